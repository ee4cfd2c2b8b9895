//! The first parts of a proof that a measured machine computed a wrong byte: what its node has committed to of one GPU, then
//! the leaf that holds the byte. The last part, the path to the root, would not fit the same transaction.

use anchor_lang::prelude::*;

#[account]
pub struct FraudProof {
    pub node: Address,
    /// Paid the rent. Nobody else can complete the fraud proof, since it pays the fault's rent too and gets this one back.
    pub finder: Address,
    /// The instant of the measurement.
    pub seed: [u8; 32],
    /// The root over rounds.
    pub root: [u8; 32],
    /// Where the leaf and its first siblings lead.
    pub chunk: [u8; 32],
    /// Hash of the profile that the entry names.
    pub profile: [u8; 32],
    /// Root of the round before.
    pub before: [u8; 32],
    pub period: u64,
    /// The byte's leaf in the tree, and its place there.
    pub row: u32,
    pub column: u32,
    /// The byte.
    pub claimed: i32,
    /// The round that it is of, of so many.
    pub round: u32,
    pub rounds: u32,
    pub version: u8,
    pub bump: u8,
    pub gpu: u8,
    /// How many siblings are climbed already.
    pub level: u8,
}
