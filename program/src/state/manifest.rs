//! The 64-byte record by which a keeper answers for the set of all its statements about a period. The layout is in
//! docs/protocol/records.md.

use anchor_lang::prelude::*;

use crate::constants::{MANIFEST_LEN, MANIFEST_TAG};
use crate::errors::MarketError;
use crate::math::bytes::take;

#[derive(Clone, Copy)]
pub struct Manifest {
    pub domain: [u8; 8],
    pub period: u64,
    /// Number of statements (4), bytes of the set (4), and its sha256 (32).
    pub set: [u8; 40],
}

impl Manifest {
    pub fn parse(data: &[u8; MANIFEST_LEN]) -> Result<Self> {
        let tag: [u8; 8] = take(data, 0)?;
        require!(tag == MANIFEST_TAG, MarketError::IrrelevantStatement);
        Ok(Self { domain: take(data, 8)?, period: u64::from_le_bytes(take(data, 16)?), set: take(data, 24)? })
    }

    /// Whether both are about one period and name different sets.
    ///
    /// A keeper signs nothing more about a period that it has sealed, and writes down what its manifest says before it
    /// signs it, so an honest one never signs two that differ, however often it restarts.
    pub fn equivocates(&self, other: &Self) -> bool {
        self.domain == other.domain && self.period == other.period && self.set != other.set
    }
}
