//! Events of fees, rewards and emission.

use anchor_lang::prelude::*;

#[event]
pub struct RewardsAccrued {
    pub period: u64,
    pub pool: u64,
    pub treasury: u64,
    pub buy_back: u64,
}

#[event]
pub struct RewardsClaimed {
    pub keeper: Address,
    pub by_awards: u64,
    pub by_vote: u64,
}

#[event]
pub struct BoughtBack {
    pub buyer: Address,
    pub burned: u64,
    pub paid: u64,
}

#[event]
pub struct Emitted {
    pub provider: Address,
    pub amount: u64,
    /// What it may still claim.
    pub left: u64,
}
