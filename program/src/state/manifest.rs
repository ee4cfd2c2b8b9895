//! The manifest: a keeper's signed digest of all its statements about a period. The layout is in
//! docs/protocol/records.md.

use anchor_lang::prelude::*;

use crate::constants::{MANIFEST_LEN, MANIFEST_TAG};
use crate::errors::MarketError;

/// The bytes of a manifest by field, integers little-endian.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct ManifestBytes {
    tag: [u8; 8],
    domain: [u8; 8],
    period: [u8; 8],
    /// Number of statements (4), bytes of the set (4), and its sha256 (32).
    set: [u8; 40],
}

#[derive(Clone, Copy)]
pub struct Manifest {
    pub domain: [u8; 8],
    pub period: u64,
    /// What tells two sets apart: see the layout.
    pub set: [u8; 40],
}

impl Manifest {
    pub fn parse(data: &[u8; MANIFEST_LEN]) -> Result<Self> {
        let bytes: &ManifestBytes = bytemuck::cast_ref(data);
        require!(bytes.tag == MANIFEST_TAG, MarketError::IrrelevantStatement);
        Ok(Self { domain: bytes.domain, period: u64::from_le_bytes(bytes.period), set: bytes.set })
    }

    /// Whether both are about one period and name different sets.
    ///
    /// A keeper signs nothing more about a period that it has sealed, and writes down what its manifest says before it
    /// signs it, so an honest one never signs two that differ, however often it restarts.
    pub fn equivocates(&self, other: &Self) -> bool {
        self.domain == other.domain && self.period == other.period && self.set != other.set
    }
}
