//! Events of outputs of redundant jobs.

use anchor_lang::prelude::*;

#[event]
pub struct OutputCommitted {
    pub lease: Address,
    pub commitment: [u8; 32],
}

#[event]
pub struct OutputRevealed {
    pub lease: Address,
    pub output: [u8; 32],
}

#[event]
pub struct OutputsResolved {
    pub order: Address,
    pub output: [u8; 32],
    pub accepted: u8,
    pub of: u8,
}

#[event]
pub struct OutputForfeited {
    pub lease: Address,
    pub node: Address,
    pub provider: Address,
    /// Base units of the stake token, burned.
    pub amount: u64,
}
