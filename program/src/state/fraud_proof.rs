//! The first half of a proof that a work claim is wrong: the claim, and the entry that is said to be wrong. The second
//! half, the path from the entry to the root, would not fit the same transaction.

use anchor_lang::prelude::*;

#[account]
pub struct FraudProof {
    pub node: Address,
    /// Paid the rent. Nobody else can complete the fraud proof, since it pays the fault's rent too and gets this one back.
    pub finder: Address,
    pub seed: [u8; 32],
    pub root: [u8; 32],
    /// Hash of the opened chunk of 32 entries.
    pub chunk: [u8; 32],
    pub period: u64,
    /// Side of the matrices.
    pub order: u32,
    pub row: u32,
    pub column: u32,
    /// The node's entry at (row, column).
    pub claimed: i32,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 6],
}
