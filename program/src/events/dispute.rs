//! Events of disputes.

use anchor_lang::prelude::*;

#[event]
pub struct DisputeOpened {
    pub dispute: Address,
    pub lease: Address,
    pub kind: u8,
    pub evidence_hash: [u8; 32],
    pub deposit: u64,
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
    pub deposit_lost: u64,
    pub upheld_weight: u64,
    pub rejected_weight: u64,
}
