//! Events of disputes.

use anchor_lang::prelude::*;

#[event]
pub struct DisputeOpened {
    pub dispute: Address,
    pub lease: Address,
    pub kind: u8,
    pub evidence_hash: [u8; 32],
    pub deposit: u64,
    /// Base units of the stake token that it may cost.
    pub amount: u64,
    pub closes_at: i64,
}

#[event]
pub struct DisputeVoted {
    pub dispute: Address,
    pub keeper: Address,
    pub uphold: u8,
    pub weight: u64,
}

#[event]
pub struct DisputeResolved {
    pub dispute: Address,
    pub lease: Address,
    pub upheld: u8,
    /// µUSDC of the deposit that the provider and the buy-back got.
    pub to_provider: u64,
    pub to_buy_back: u64,
    pub upheld_weight: u64,
    pub rejected_weight: u64,
}
