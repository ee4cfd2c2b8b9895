//! Disputes that customers open and keepers decide.

pub mod dispute_open;
pub mod dispute_resolve;
pub mod dispute_uphold;
pub mod dispute_vote;

pub use dispute_open::*;
pub use dispute_resolve::*;
pub use dispute_uphold::*;
pub use dispute_vote::*;
