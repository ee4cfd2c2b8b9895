//! Fees and emission: how they are divided, claimed and bought back.

pub mod emission_claim;
pub mod rewards_accrue;
pub mod rewards_buy_back;
pub mod rewards_claim;

pub use emission_claim::*;
pub use rewards_accrue::*;
pub use rewards_buy_back::*;
pub use rewards_claim::*;
