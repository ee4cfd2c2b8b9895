//! Outages that keepers see: leases that may move leave a silent node before the report of its period.

pub mod lease_outage;
pub mod outage_close;
pub mod outage_vote;

pub use lease_outage::*;
pub use outage_close::*;
pub use outage_vote::*;
