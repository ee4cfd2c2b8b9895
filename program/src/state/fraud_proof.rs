//! The first part of a proof that a node has signed something wrong: a work claim with an entry of the product, or a
//! commitment of a measurement with a mix byte. The last part, the path to the root, would not fit the same transaction.

use anchor_lang::prelude::*;

/// Of an entry of a work claim: `fraud_proof_open`, `prove_bad_work`.
pub const PROOF_ENTRY: u8 = 0;
/// Of a mix byte of a measurement: `fraud_proof_commitment`, `fraud_proof_leaf`, `prove_wrong_cell`.
pub const PROOF_CELL: u8 = 1;

#[account]
pub struct FraudProof {
    pub node: Address,
    /// Paid the rent. Nobody else can complete the fraud proof, since it pays the fault's rent too and gets this one back.
    pub finder: Address,
    /// Of the product; the instant of a measurement.
    pub seed: [u8; 32],
    /// Of the work claim; of a measurement, the root over rounds.
    pub root: [u8; 32],
    /// Hash of the opened chunk of 32 entries; of a measurement, where the leaf and its first siblings lead.
    pub chunk: [u8; 32],
    /// Hash of the profile that the entry names; zero in proofs of entries, as is all that is said of rounds.
    pub profile: [u8; 32],
    /// Root of the round before.
    pub before: [u8; 32],
    pub period: u64,
    /// Side of the matrices; of a measurement zero, since the model's profile has it.
    pub order: u32,
    /// Of a measurement, row and column are those of the byte in the tree: its leaf, and its place there.
    pub row: u32,
    pub column: u32,
    /// The node's entry at (row, column), or the byte.
    pub claimed: i32,
    /// The round that the byte is of, of so many.
    pub round: u32,
    pub rounds: u32,
    pub version: u8,
    pub bump: u8,
    /// `PROOF_*`.
    pub kind: u8,
    pub gpu: u8,
    /// How many siblings are climbed already.
    pub level: u8,
    pub reserved: [u8; 3],
}
