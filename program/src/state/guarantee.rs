//! Committed availability: a node stays on the market until a date, with a promised uptime, and stake that answers for
//! it.
//!
//! Counted are whole periods within the commitment of which a leaf was applied, and the time that the node was suspended
//! for a fault that was not voided. Periods without a final report count for nobody. Stake cannot leave meanwhile,
//! because the node cannot: it is settled first, and retires then.

use anchor_lang::prelude::*;

use crate::constants::{BPS, GUARANTEE_BPS_MIN};
use crate::errors::OrOverflow;
use crate::math::periods::period_end;
use crate::state::{Node, NODE_ACTIVE, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED};

impl Node {
    /// Whether there is a commitment, running or over and not settled.
    pub fn is_guaranteed(&self) -> bool {
        self.guaranteed_until != 0
    }

    pub(crate) fn promise_sound(&self) -> bool {
        if !self.is_guaranteed() {
            return self.guarantee_bps == 0 && self.guarantee_counted_secs == 0;
        }
        self.guarantee_bps >= GUARANTEE_BPS_MIN
            && (self.guarantee_bps as u64) <= BPS
            && self.guaranteed_since < self.guaranteed_until
            && self.guarantee_up_secs <= self.guarantee_counted_secs
            && self.status != NODE_RETIRED
    }

    /// Adds what an applied leaf says of a period, if all of it lies within the commitment. What it says of the time
    /// after a suspension is not added: that time counts already.
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

    /// Takes the node out of the market until its provider's wallet says that it is well. `convicted` when nothing can
    /// show any more that it was not its fault.
    pub fn suspend(&mut self, convicted: bool, now: i64) {
        if convicted {
            self.convicted = 1;
        }
        if !matches!(self.status, NODE_RETIRED | NODE_SUSPENDED) {
            self.suspended_at = now;
            self.status = NODE_SUSPENDED;
        }
    }

    /// Its last fault was voided: unless an earlier one was not, the node may go on as before, and the time does not count.
    pub fn acquit(&mut self, now: i64) {
        if self.status != NODE_SUSPENDED || self.pending_faults > 0 || self.convicted == 1 {
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

    /// Adds the time that a suspended node has been away within its commitment, none of it as up.
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
        self.convicted = 0;
        if status == NODE_ACTIVE && self.status != NODE_ACTIVE {
            self.available_since = now;
        }
        self.status = status;
        Ok(())
    }

    /// Ends the commitment and returns the seconds that were counted in it.
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
