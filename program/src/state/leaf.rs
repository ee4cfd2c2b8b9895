//! The leaf: what a report says of one node, and of one of its leases. The layout is in docs/protocol/README.md.

use anchor_lang::prelude::*;

use crate::constants::{FLAGS_KNOWN, LEAF_LEN};
use crate::errors::MarketError;

/// The bytes of a leaf by field, integers little-endian.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub struct LeafBytes {
    pub node: [u8; 32],
    pub period: [u8; 8],
    pub checks_passed: [u8; 2],
    pub checks_total: [u8; 2],
    pub tier: u8,
    pub padding: u8,
    pub flags: [u8; 2],
    pub operations: [u8; 4],
    pub up_secs: [u8; 4],
    pub lease: [u8; 32],
    pub verified_secs: [u8; 4],
    pub downtime_secs: [u8; 4],
    pub device_root: [u8; 32],
    pub evidence_hash: [u8; 32],
    pub bandwidth: [u8; 4],
    pub down_mbps: [u8; 4],
    pub up_mbps: [u8; 4],
    pub reserved: [u8; 4],
}

impl LeafBytes {
    pub fn of(data: &[u8; LEAF_LEN]) -> &Self {
        bytemuck::cast_ref(data)
    }

    /// What a fault of the leaf is about: the lease, or zero for the whole node.
    pub fn subject(data: &[u8; LEAF_LEN], of_node: u8) -> &[u8; 32] {
        if of_node == 0 {
            &Self::of(data).lease
        } else {
            &[0; 32]
        }
    }
}

#[derive(Clone, Copy)]
pub struct Leaf {
    pub node: Address,
    pub period: u64,
    pub checks_passed: u16,
    pub checks_total: u16,
    pub tier: u8,
    pub flags: u16,
    /// Of the machine's weakest GPU, 10⁹ int8 operations a second; 0 when its GPUs were not measured in the period.
    pub operations: u32,
    pub up_secs: u32,
    pub lease: Address,
    pub verified_secs: u32,
    pub downtime_secs: u32,
    pub device_root: [u8; 32],
    pub evidence_hash: [u8; 32],
    /// Memory bandwidth of the weakest GPU, 10⁶ bytes a second.
    pub bandwidth: u32,
    /// Of the machine's network; 0 when that was not measured.
    pub down_mbps: u32,
    pub up_mbps: u32,
}

impl Leaf {
    /// Strict: reserved bytes are zero, flags are known, no count contradicts another.
    pub fn parse(data: &[u8; LEAF_LEN], period_secs: u32) -> Result<Self> {
        let bytes = LeafBytes::of(data);
        let leaf = Self {
            node: Address::new_from_array(bytes.node),
            period: u64::from_le_bytes(bytes.period),
            checks_passed: u16::from_le_bytes(bytes.checks_passed),
            checks_total: u16::from_le_bytes(bytes.checks_total),
            tier: bytes.tier,
            flags: u16::from_le_bytes(bytes.flags),
            operations: u32::from_le_bytes(bytes.operations),
            up_secs: u32::from_le_bytes(bytes.up_secs),
            lease: Address::new_from_array(bytes.lease),
            verified_secs: u32::from_le_bytes(bytes.verified_secs),
            downtime_secs: u32::from_le_bytes(bytes.downtime_secs),
            device_root: bytes.device_root,
            evidence_hash: bytes.evidence_hash,
            bandwidth: u32::from_le_bytes(bytes.bandwidth),
            down_mbps: u32::from_le_bytes(bytes.down_mbps),
            up_mbps: u32::from_le_bytes(bytes.up_mbps),
        };
        let sound = bytes.padding == 0
            && bytes.reserved == [0; 4]
            && leaf.flags & !FLAGS_KNOWN == 0
            && leaf.checks_passed <= leaf.checks_total
            && leaf.tier <= 3
            && leaf.up_secs <= period_secs
            && leaf.verified_secs.checked_add(leaf.downtime_secs).is_some_and(|sum| sum <= period_secs)
            && (leaf.measured() || leaf.bandwidth == 0)
            && (leaf.has_lease() || leaf.verified_secs == 0 && leaf.downtime_secs == 0);
        require!(sound, MarketError::InvalidLeaf);
        Ok(leaf)
    }

    /// Whether the GPUs were measured.
    pub fn measured(&self) -> bool {
        self.operations != 0
    }

    pub fn has_lease(&self) -> bool {
        self.lease != Address::default()
    }
}
