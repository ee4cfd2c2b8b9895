//! A part of a slash that waits for its delay: what a finder or a victim gets, so that no stake or bond leaves by a
//! slash before it could have left without one.

use anchor_lang::prelude::*;

#[account]
pub struct Payout {
    /// The wallet that it belongs to.
    pub beneficiary: Address,
    /// What was slashed for: a fault, a node or a keeper.
    pub source: Address,
    /// Gets the account's rent back.
    pub rent_payer: Address,
    /// Base units of the stake token; they lie in the market's payout vault.
    pub amount: u64,
    pub payable_at: i64,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 14],
}
