//! Events of reports and their leaves.

use anchor_lang::prelude::*;

/// A keeper's vote. A later one of the same keeper for the period moves it there.
#[event]
pub struct ReportVoted {
    pub period: u64,
    pub keeper: Address,
    pub root: [u8; 32],
    pub weight: u64,
}

#[event]
pub struct ReportFinalised {
    pub period: u64,
    pub root: [u8; 32],
    pub weight: u64,
    pub total_weight: u64,
}

#[event]
pub struct LeafApplied {
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    pub flags: u16,
    pub verified_secs: u32,
    pub downtime_secs: u32,
}

#[event]
pub struct ReportClosed {
    pub period: u64,
}
