//! Events of leases.

use anchor_lang::prelude::*;

#[event]
pub struct LeaseAwarded {
    pub lease: Address,
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub price: u64,
    pub gpu_mask: u16,
    pub reserved: u64,
    pub released: u64,
    pub score: u64,
}

#[event]
pub struct LeaseStarted {
    pub lease: Address,
    pub started_at: i64,
    pub funded_until: i64,
    pub connection_hash: [u8; 32],
}

#[event]
pub struct LeaseAborted {
    pub lease: Address,
    pub released: u64,
    pub node_failed: u8,
}

/// The node has said, before the start, that it does not serve the lease. `charged` of the customer's money waits for a
/// buy-back.
#[event]
pub struct LeaseDeclined {
    pub lease: Address,
    pub order: Address,
    pub node: Address,
    pub reason: u8,
    pub job: [u8; 32],
    pub held_secs: u32,
    pub charged: u64,
    pub released: u64,
}

#[event]
pub struct LeaseExtended {
    pub lease: Address,
    pub seconds: u32,
    pub reserved: u64,
    pub funded_until: i64,
}

#[event]
pub struct LeaseSettled {
    pub lease: Address,
    pub source: u8,
    pub paid_secs: u32,
    pub paid: u64,
    pub provider_amount: u64,
    pub fee_total: u64,
}

#[event]
pub struct LeaseNoticed {
    pub lease: Address,
    pub notice_at: i64,
}

/// The node has put a checkpoint down.
#[event]
pub struct LeaseCheckpointed {
    pub lease: Address,
    pub hash: [u8; 32],
}

/// The remaining time of a failed lease went to another node.
#[event]
pub struct LeaseMigrated {
    pub from: Address,
    pub to: Address,
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub price: u64,
    pub gpu_mask: u16,
    pub duration_secs: u32,
    pub reserved: u64,
    pub score: u64,
    pub checkpoint: [u8; 32],
}

#[event]
pub struct LeaseEnded {
    pub lease: Address,
    pub reason: u8,
    pub ended_at: i64,
    pub released: u64,
}

#[event]
pub struct LeaseRated {
    pub lease: Address,
    pub node: Address,
    pub stars: u8,
    pub weight: u64,
}

#[event]
pub struct LeaseClosed {
    pub lease: Address,
    pub fee: u64,
    /// Of the fee, what the keeper that awarded it has earned.
    pub award: u64,
    /// What the work was worth whose output lost. It goes to the buy-back.
    pub lost: u64,
    pub released: u64,
    pub paid: u64,
    pub paid_secs: u32,
}

#[event]
pub struct LeaseFailed {
    pub lease: Address,
    pub period: u64,
    pub ended_at: i64,
}

/// A conviction of its node has ended the lease at `ended_at`, the later of `from` and what was paid.
#[event]
pub struct LeaseCut {
    pub lease: Address,
    pub from: i64,
    pub ended_at: i64,
}
