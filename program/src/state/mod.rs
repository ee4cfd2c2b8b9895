//! Accounts: one file each, with its layout, its derivation and its invariant.
//!
//! Every account is zero-copy: an 8-byte discriminator, then exactly the bytes of the struct, without padding.

mod auction;
mod availability;
mod cause;
mod credits;
mod device_claim;
mod dispute;
mod fault;
mod fraud_proof;
mod gpu_model;
mod guarantee;
mod health;
mod keeper;
mod leaf;
mod lease;
mod manifest;
mod market;
mod node;
mod node_record;
mod order;
mod params;
mod payout;
mod provider;
mod report;
mod report_tail;
mod rewards;
mod stake;
mod statement;
mod work_claim;

pub use auction::*;
pub use availability::*;
pub(crate) use cause::doubled;
pub use credits::*;
pub use device_claim::*;
pub use dispute::*;
pub use fault::*;
pub use fraud_proof::*;
pub use gpu_model::*;
pub use health::*;
pub use keeper::*;
pub use leaf::*;
pub use lease::*;
pub use manifest::*;
pub use market::*;
pub use node::*;
pub use node_record::*;
pub use order::*;
pub use params::*;
pub use payout::*;
pub use provider::*;
pub use report::*;
pub use report_tail::*;
pub use rewards::*;
pub use statement::*;
pub use work_claim::*;
