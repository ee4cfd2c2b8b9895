//! Uptime guarantees: the node stays on the market until a date with a promised uptime, backed by a part of its stake.
//!
//! Two things are counted: whole periods within the guarantee for which a leaf was applied, and the time that the node
//! was suspended for a fault that was not voided. Periods without a final report do not count. The stake cannot leave
//! before the guarantee is resolved, because the node can retire only after that.

use anchor_lang::prelude::*;

use crate::constants::{BPS, GUARANTEE_BPS_MIN};
use crate::errors::OrOverflow;
use crate::math::periods::period_end;
use crate::state::{Node, NODE_ACTIVE, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED};

impl Node {
    /// Whether the node has a guarantee, running or not resolved yet.
    pub fn is_guaranteed(&self) -> bool {
        self.guaranteed_until != 0
    }

    pub(crate) fn guarantee_sound(&self) -> bool {
        if !self.is_guaranteed() {
            return self.guarantee_bps == 0 && self.guarantee_counted_secs == 0;
        }
        self.guarantee_bps >= GUARANTEE_BPS_MIN
            && (self.guarantee_bps as u64) <= BPS
            && self.guaranteed_since < self.guaranteed_until
            && self.guarantee_up_secs <= self.guarantee_counted_secs
            && self.status != NODE_RETIRED
    }

    /// Counts the period of an applied leaf, if it lies within the guarantee. A period after a suspension is not added
    /// here: the suspension counts already.
    pub fn count_period(&mut self, period: u64, up_secs: u32, period_secs: u32) -> Result<()> {
        let end = period_end(period, period_secs)?;
        let start = end.saturating_sub(period_secs as i64);
        if !self.is_guaranteed() || start < self.guaranteed_since || end > self.guaranteed_until {
            return Ok(());
        }
        if self.status == NODE_SUSPENDED && end > self.suspended_at {
            return Ok(());
        }
        self.guarantee_up_secs = self.guarantee_up_secs.checked_add(up_secs as u64).or_overflow()?;
        self.guarantee_counted_secs =
            self.guarantee_counted_secs.checked_add(period_secs as u64).or_overflow()?;
        Ok(())
    }

    /// Suspends the node until its provider's wallet reactivates it. `convicted` when no appeal can void the fault any
    /// more.
    pub fn suspend(&mut self, convicted: bool, now: i64) {
        if convicted {
            self.convicted = 1;
        }
        if !matches!(self.status, NODE_RETIRED | NODE_SUSPENDED) {
            self.suspended_at = now;
            self.status = NODE_SUSPENDED;
        }
    }

    /// Its last fault of the machine was voided: unless an earlier one was not, the node may go on as before, and the time
    /// does not count.
    pub fn acquit(&mut self, now: i64) {
        if self.status != NODE_SUSPENDED
            || self.pending_node_faults > 0
            || self.convicted == 1
            || self.dead_until != 0
        {
            return;
        }
        if now < self.guaranteed_until {
            // It was active, since it had to be.
            self.available_since = now;
            self.status = NODE_ACTIVE;
        } else {
            // It may have been asleep before: its agent says when it is awake.
            self.status = NODE_HIBERNATED;
        }
    }

    /// Counts the time of a suspension within the guarantee as down.
    fn count_suspension(&mut self, now: i64) -> Result<()> {
        if self.status != NODE_SUSPENDED || !self.is_guaranteed() {
            return Ok(());
        }
        let from = self.suspended_at.max(self.guaranteed_since);
        let away = now.min(self.guaranteed_until).saturating_sub(from).max(0);
        self.guarantee_counted_secs = self.guarantee_counted_secs.checked_add(away as u64).or_overflow()?;
        Ok(())
    }

    /// The provider's wallet, or the agent of a node that was not suspended, sets the status.
    pub fn set_status(&mut self, status: u8, now: i64) -> Result<()> {
        self.count_suspension(now)?;
        if self.status == NODE_SUSPENDED {
            self.mend(now);
        }
        if status == NODE_ACTIVE && self.status != NODE_ACTIVE {
            self.available_since = now;
        }
        self.status = status;
        Ok(())
    }

    /// Ends the guarantee and returns the seconds that were counted in it.
    pub fn close_guarantee(&mut self, now: i64) -> Result<u64> {
        self.count_suspension(now)?;
        let counted = self.guarantee_counted_secs;
        self.guaranteed_since = 0;
        self.guaranteed_until = 0;
        self.guarantee_bps = 0;
        self.guarantee_up_secs = 0;
        self.guarantee_counted_secs = 0;
        Ok(counted)
    }
}
