//! One event for every state change, so that a history can be rebuilt from transactions alone.

mod auction;
mod credits;
mod dispute;
mod keeper;
mod lease;
mod market;
mod node;
mod order;
mod outage;
mod output;
mod provider;
mod report;
mod rewards;
mod slashing;

pub use auction::*;
pub use credits::*;
pub use dispute::*;
pub use keeper::*;
pub use lease::*;
pub use market::*;
pub use node::*;
pub use order::*;
pub use outage::*;
pub use output::*;
pub use provider::*;
pub use report::*;
pub use rewards::*;
pub use slashing::*;
