//! What a node is compared by: its score record and its uptime guarantee.

use anchor_lang::prelude::*;

/// What a node's score depends on, apart from its ask and its uptime guarantee.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct ScoreRecord {
    pub rating_sum: u64,
    pub rating_weight: u64,
    pub dispute_lost_at: i64,
    pub fees_completed: u64,
    pub fees_failed: u64,
    pub uptime_bps: u16,
    pub dispute_bps: u16,
    pub tier: u8,
    /// Whole days of good periods, up to [`crate::constants::FULL_AGE_DAYS`]: time alone gives nothing.
    pub days: u8,
    /// 1 once a check stands behind the uptime.
    pub checked: u8,
    pub pad: [u8; 1],
}

/// A node's uptime guarantee.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct Guarantee {
    /// 0 without a guarantee.
    pub until: i64,
    /// The guaranteed share of the time.
    pub bps: u16,
    pub pad: [u8; 6],
}

impl ScoreRecord {
    /// The uptime that checks have shown: none where there was no check.
    pub fn shown_uptime_bps(&self) -> u16 {
        match self.checked {
            0 => 0,
            _ => self.uptime_bps,
        }
    }
}

impl Guarantee {
    /// What the guarantee counts for work that ends at `end` at the latest: nothing where it ends before.
    pub fn bps_until(&self, end: i64) -> u16 {
        if end <= self.until {
            self.bps
        } else {
            0
        }
    }
}

/// A record that is no better than any of a time, which ends where the next one begins.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct WorstRecord {
    /// 0 while there was none.
    pub since: i64,
    pub score: ScoreRecord,
    pub guarantee: Guarantee,
}

impl WorstRecord {
    pub(super) fn record(&self) -> NodeRecord {
        NodeRecord { score: self.score, guarantee: self.guarantee }
    }
}

/// All that a node is compared by, apart from its ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    pub score: ScoreRecord,
    pub guarantee: Guarantee,
}
