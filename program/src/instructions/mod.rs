//! One folder for each kind of account, one file for each instruction: arguments, accounts, checks, handler.

pub mod auction;
pub mod credits;
pub mod dispute;
pub mod keeper;
pub mod lease;
pub mod market;
pub mod node;
pub mod order;
pub mod outage;
pub mod output;
pub mod provider;
pub mod report;
pub mod rewards;
pub mod slashing;
