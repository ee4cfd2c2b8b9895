//! The check statement: a keeper's signed record of one check. The layout is in docs/protocol/README.md.

use anchor_lang::prelude::*;

use crate::constants::{
    FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SPEC_MISMATCH,
    FLAG_UNHEALTHY, FLAG_WORK_FAILED, KIND_WORK, STATEMENT_LEN, STATEMENT_TAG,
};
use crate::errors::MarketError;

/// The bytes of a check statement by field, integers little-endian.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct StatementBytes {
    tag: [u8; 8],
    domain: [u8; 8],
    node: [u8; 32],
    period: [u8; 8],
    kind: u8,
    passed: u8,
    reserved: [u8; 2],
    first_figure: [u8; 4],
    second_figure: [u8; 4],
    covered_secs: [u8; 4],
    checked_at: [u8; 8],
    lease: [u8; 32],
    detail: [u8; 32],
}

#[derive(Clone, Copy)]
pub struct Statement {
    pub domain: [u8; 8],
    pub node: Address,
    pub period: u64,
    pub kind: u8,
    pub passed: bool,
    /// What the check measured. Of work: 10⁹ int8 operations and 10⁶ bytes of memory a second, of the weakest GPU; of the
    /// network: Mbit/s down and up.
    pub first_figure: u32,
    pub second_figure: u32,
    /// Seconds of the period that the check speaks for.
    pub covered_secs: u32,
    /// Unix second of the check.
    pub checked_at: i64,
    pub lease: Address,
}

impl Statement {
    /// The fields that the program reads.
    pub fn parse(data: &[u8; STATEMENT_LEN]) -> Result<Self> {
        let bytes: &StatementBytes = bytemuck::cast_ref(data);
        let sound = bytes.tag == STATEMENT_TAG
            && bytes.reserved == [0; 2]
            && bytes.passed <= 1
            && (1..=7).contains(&bytes.kind);
        require!(sound, MarketError::IrrelevantStatement);
        Ok(Self {
            domain: bytes.domain,
            node: Address::new_from_array(bytes.node),
            period: u64::from_le_bytes(bytes.period),
            kind: bytes.kind,
            passed: bytes.passed == 1,
            first_figure: u32::from_le_bytes(bytes.first_figure),
            second_figure: u32::from_le_bytes(bytes.second_figure),
            covered_secs: u32::from_le_bytes(bytes.covered_secs),
            checked_at: i64::from_le_bytes(bytes.checked_at),
            lease: Address::new_from_array(bytes.lease),
        })
    }

    /// Whether both are about one check and say the opposite of each other: passed and failed.
    ///
    /// A keeper signs one statement for (node, lease, period, kind, second of the check) and writes it down before it
    /// is sent, so an honest one never signs two that differ, however often it restarts. Only the opposite result
    /// counts all the same: a keeper whose records were restored from a copy could come to measure, cover or describe
    /// something else for a second that it has spoken for, and that is no reason to take its whole bond.
    pub fn equivocates(&self, other: &Self) -> bool {
        self.domain == other.domain
            && self.node == other.node
            && self.lease == other.lease
            && self.period == other.period
            && self.kind == other.kind
            && self.checked_at == other.checked_at
            && self.passed != other.passed
    }

    /// The faults that a passed check of this kind contradicts, [`FLAG_SLOW`] apart, which depends on figures. A machine that was up for a part of the period may have
    /// been down for the rest: liveness contradicts only when it leaves less than the grace uncovered.
    pub fn contradicts(&self, period_secs: u32, grace_secs: u32) -> u16 {
        if !self.passed {
            return 0;
        }
        match self.kind {
            1 if self.covered_secs.saturating_add(grace_secs) >= period_secs => FLAG_OFFLINE,
            2 => FLAG_SPEC_MISMATCH,
            KIND_WORK => FLAG_WORK_FAILED,
            4 => FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED,
            5 => FLAG_UNHEALTHY,
            6 => FLAG_BAD_OUTPUT,
            _ => 0,
        }
    }
}
