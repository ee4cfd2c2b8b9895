//! Leases, from start to close, and what settles them.

pub mod lease_abort;
pub mod lease_checkpoint;
pub mod lease_close;
pub mod lease_decline;
pub mod lease_end;
pub mod lease_extend;
pub mod lease_migrate;
pub mod lease_rate;
pub mod lease_settle;
pub mod lease_settle_receipt;
pub mod lease_settle_report;
pub mod lease_start;
pub mod unstarted;

pub use lease_abort::*;
pub use lease_checkpoint::*;
pub use lease_close::*;
pub use lease_decline::*;
pub use lease_end::*;
pub use lease_extend::*;
pub use lease_migrate::*;
pub use lease_rate::*;
pub use lease_settle_receipt::*;
pub use lease_settle_report::*;
pub use lease_start::*;
