//! The 176-byte record that a report holds for one node and lease. The layout is in docs/protocol/README.md.

use anchor_lang::prelude::*;

use crate::constants::{FLAGS_KNOWN, LEAF_LEN};
use crate::errors::MarketError;
use crate::math::bytes::take;

#[derive(Clone, Copy)]
pub struct Leaf {
    pub node: Address,
    pub period: u64,
    pub checks_passed: u16,
    pub checks_total: u16,
    pub tier: u8,
    pub flags: u16,
    pub measured_tflops_x10: u32,
    pub up_secs: u32,
    pub lease: Address,
    pub verified_secs: u32,
    pub downtime_secs: u32,
    pub device_root: [u8; 32],
    pub evidence_hash: [u8; 32],
}

impl Leaf {
    /// Strict: reserved bytes are zero, flags are known, no count contradicts another.
    pub fn parse(data: &[u8; LEAF_LEN], period_secs: u32) -> Result<Self> {
        let leaf = Self {
            node: Address::new_from_array(take(data, 0)?),
            period: u64::from_le_bytes(take(data, 32)?),
            checks_passed: u16::from_le_bytes(take(data, 40)?),
            checks_total: u16::from_le_bytes(take(data, 42)?),
            tier: u8::from_le_bytes(take(data, 44)?),
            flags: u16::from_le_bytes(take(data, 46)?),
            measured_tflops_x10: u32::from_le_bytes(take(data, 48)?),
            up_secs: u32::from_le_bytes(take(data, 52)?),
            lease: Address::new_from_array(take(data, 56)?),
            verified_secs: u32::from_le_bytes(take(data, 88)?),
            downtime_secs: u32::from_le_bytes(take(data, 92)?),
            device_root: take(data, 96)?,
            evidence_hash: take(data, 128)?,
        };
        let padding: [u8; 1] = take(data, 45)?;
        let reserved: [u8; 16] = take(data, 160)?;
        let sound = padding == [0]
            && reserved == [0; 16]
            && leaf.flags & !FLAGS_KNOWN == 0
            && leaf.checks_passed <= leaf.checks_total
            && leaf.tier <= 3
            && leaf.up_secs <= period_secs
            && leaf.verified_secs.checked_add(leaf.downtime_secs).is_some_and(|sum| sum <= period_secs)
            && (leaf.has_lease() || leaf.verified_secs == 0 && leaf.downtime_secs == 0);
        require!(sound, MarketError::InvalidLeaf);
        Ok(leaf)
    }

    pub fn has_lease(&self) -> bool {
        self.lease != Address::default()
    }
}
