//! Events of nodes, their guarantees and evidence.

use anchor_lang::prelude::*;

#[event]
pub struct NodeRegistered {
    pub node: Address,
    pub provider: Address,
    pub model: u16,
    pub gpus: u8,
    pub price: u64,
    pub simulated: u8,
}

#[event]
pub struct NodeUpdated {
    pub node: Address,
    pub price: u64,
    pub status: u8,
    pub isolation: u8,
    pub cuda: u16,
    pub spot_bps: u16,
}

/// A node is measured by these terms of its model from now on.
#[event]
pub struct TermsAccepted {
    pub node: Address,
    pub min_operations: u32,
    pub min_bandwidth: u32,
}

/// Stake of the provider became the node's own, or was given back: what the node has now.
#[event]
pub struct NodeStaked {
    pub node: Address,
    pub provider: Address,
    pub stake: u64,
}

/// A GPU of the node has died: what it cost, all burned, and until when the node takes no work.
#[event]
pub struct NodeDied {
    pub node: Address,
    pub provider: Address,
    pub amount: u64,
    pub until: i64,
}

/// An uptime guarantee began, or grew.
#[event]
pub struct UptimeGuaranteed {
    pub node: Address,
    pub since: i64,
    pub until: i64,
    pub guarantee_bps: u16,
}

/// An uptime guarantee is resolved. Where it was broken there is a fault.
#[event]
pub struct GuaranteeResolved {
    pub node: Address,
    pub provider: Address,
    /// Zero without one.
    pub fault: Address,
    pub since: i64,
    pub until: i64,
    pub guarantee_bps: u16,
    pub up_secs: u64,
    pub counted_secs: u64,
}

#[event]
pub struct NodeRetired {
    pub node: Address,
    pub at: i64,
}

#[event]
pub struct NodeClosed {
    pub node: Address,
}

#[event]
pub struct EvidenceSet {
    pub node: Address,
    pub tier: u8,
    /// Until when the tier stands.
    pub until: i64,
    /// Claims that the node got by this, and how many it still misses.
    pub gained: u8,
    pub missing: u8,
}

#[event]
pub struct DeviceTaken {
    pub device: [u8; 32],
    pub from: Address,
    pub to: Address,
    pub tier: u8,
}
