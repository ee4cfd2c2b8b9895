//! Reports: votes on a period's root, and leaves that are applied under it.

pub mod leaf;
pub mod report_apply;
pub mod report_close;
pub mod report_vote;

pub use report_apply::*;
pub use report_close::*;
pub use report_vote::*;
