//! Events of the market, its parameters and GPU models.

use anchor_lang::prelude::*;

#[event]
pub struct MarketInitialised {
    pub authority: Address,
    pub payment_mint: Address,
    pub stake_mint: Address,
}

#[event]
pub struct ParamsProposed {
    pub eta: i64,
}

#[event]
pub struct ParamsApplied {
    pub at: i64,
}

#[event]
pub struct MarketPaused {
    pub by: Address,
    pub paused: u8,
}

#[event]
pub struct AuthorityProposed {
    pub pending: Address,
}

#[event]
pub struct AuthorityChanged {
    pub authority: Address,
    pub guardian: Address,
}

#[event]
pub struct GpuModelSet {
    pub id: u16,
    pub min_stake: u64,
}
