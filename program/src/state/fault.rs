//! A fault that a finalised report found: a slash that waits for its appeal window to pass.

use anchor_lang::prelude::*;

use crate::constants::{
    FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SPEC_MISMATCH,
    FLAG_WORK_FAILED,
};

/// A fault out of a final report.
pub const FAULT_REPORT: u8 = 1;
/// A fault out of a dispute that keepers upheld.
pub const FAULT_DISPUTE: u8 = 2;

#[account]
pub struct Fault {
    pub node: Address,
    pub provider: Address,
    /// Zero when the fault is the node's alone.
    pub lease: Address,
    /// Zero when no customer was harmed.
    pub customer: Address,
    /// The claimant of an upheld dispute; zero for what a report says.
    pub finder: Address,
    pub rent_payer: Address,
    pub period: u64,
    /// When the report became final.
    pub reported_at: i64,
    /// When it may be applied.
    pub applicable_at: i64,
    /// Only keepers that were active before it have a say in appeals: the end of the report's period, or the opening
    /// of the dispute.
    pub voters_before: i64,
    /// Base units of the stake token.
    pub amount: u64,
    /// Of the amount, at most this goes to the customer. Base units of the stake token.
    pub harm: u64,
    /// Bonded weight when the report was created.
    pub total_weight: u64,
    /// Weight of the keepers counted in `appellants`.
    pub appeal_weight: u64,
    /// Keepers whose contradicting statements are counted for `appeal_flag`.
    pub appellants: [u8; 32],
    /// Those not yet voided.
    pub flags: u16,
    pub appeal_flag: u16,
    pub finder_bps: u16,
    pub version: u8,
    pub bump: u8,
    /// `FAULT_*`.
    pub kind: u8,
    /// `DISPUTE_*`, of the fault of a dispute: what it is that keepers upheld.
    pub dispute_kind: u8,
    pub reserved: [u8; 6],
}

/// The slash terms of a fault, basis points of the node's required stake.
pub struct SlashTerms {
    pub fraud_bps: u16,
    pub work_failed_bps: u16,
    pub bad_work_bps: u16,
    pub offline_bps: u16,
}

impl SlashTerms {
    /// The gravest flag decides. Being offline costs stake only when a lease was harmed.
    pub fn bps(&self, flags: u16, lease_harmed: bool) -> u16 {
        let terms = [
            (FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED | FLAG_SPEC_MISMATCH, self.fraud_bps),
            (FLAG_WORK_FAILED, self.work_failed_bps),
            (FLAG_BAD_OUTPUT, self.bad_work_bps),
            (FLAG_OFFLINE, if lease_harmed { self.offline_bps } else { 0 }),
        ];
        terms.iter().filter(|(mask, _)| flags & mask != 0).map(|(_, bps)| *bps).max().unwrap_or(0)
    }
}
