//! The first half of a proof of bad work: what the node committed to, and which entry is said to be wrong. The second
//! half, the way from the entry to the root, would not fit the same transaction.

use anchor_lang::prelude::*;

#[account]
pub struct FraudProof {
    pub node: Address,
    /// Who accuses and pays the rent: nobody else can use the fraud_proof, so nobody takes the finder's share by copying
    /// the second half.
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
    /// What the node committed to at (row, column).
    pub claimed: i32,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 6],
}
