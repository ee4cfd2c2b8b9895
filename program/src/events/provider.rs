//! Events of providers and their stake.

use anchor_lang::prelude::*;

#[event]
pub struct ProviderRegistered {
    pub provider: Address,
    pub wallet: Address,
}

#[event]
pub struct ProviderPayoutSet {
    pub provider: Address,
    pub payout: Address,
}

#[event]
pub struct StakeAdded {
    pub provider: Address,
    pub amount: u64,
    pub stake: u64,
}

#[event]
pub struct UnstakeRequested {
    pub provider: Address,
    pub amount: u64,
    pub unstake_at: i64,
}

#[event]
pub struct StakeWithdrawn {
    pub provider: Address,
    pub amount: u64,
}

#[event]
pub struct ProviderClosed {
    pub provider: Address,
}
