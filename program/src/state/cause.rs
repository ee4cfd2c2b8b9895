//! The cause of a node's faults. From its first fault of the machine until its wallet says that it is mended, all that is
//! found wrong with the machine has one cause: a graver finding costs the difference to what the cause has cost before,
//! and a lesser one costs nothing more. A node that was convicted and fails again within a year pays twice the share of
//! the time before.

use anchor_lang::prelude::*;

use crate::constants::{BPS, RELAPSE_SECS};
use crate::errors::OrOverflow;
use crate::math::fees::bps_of;
use crate::state::Node;

/// A share that doubles `times` times, at most the whole.
pub(crate) fn doubled(bps: u16, times: u16) -> Result<u16> {
    // Fourteen doublings make the smallest share the whole.
    let share = u64::from(bps).checked_shl(u32::from(times).min(14)).or_overflow()?.min(BPS);
    u16::try_from(share).ok().or_overflow()
}

impl Node {
    /// What a finding that costs this share of the required stake costs beyond what its cause has cost before.
    pub fn cause_left(&self, bps: u16, now: i64) -> Result<u64> {
        let recent = now < self.mended_at.saturating_add(RELAPSE_SECS);
        let share = doubled(bps, if recent { self.relapses } else { 0 })?;
        let due = bps_of(self.required_stake, share)?;
        Ok(due.saturating_sub(self.cause_taken))
    }

    /// The present cause costs this much more, whether or not the node has it.
    pub fn charge_cause(&mut self, amount: u64) -> Result<()> {
        self.cause_taken = self.cause_taken.checked_add(amount).or_overflow()?;
        Ok(())
    }

    /// A finding was voided: what it cost does not count for the cause.
    pub fn void_cause(&mut self, amount: u64) {
        self.cause_taken = self.cause_taken.saturating_sub(amount);
    }

    /// The wallet says that the machine is mended: what fails from now on has another cause.
    pub(crate) fn mend(&mut self, now: i64) {
        if self.convicted == 1 {
            let recent = now < self.mended_at.saturating_add(RELAPSE_SECS);
            self.relapses = if recent { self.relapses.saturating_add(1) } else { 1 };
            self.mended_at = now;
            self.forget_shares();
        }
        self.convicted = 0;
        self.convicted_from = 0;
        self.recut = 0;
        self.cause_taken = 0;
    }
}
