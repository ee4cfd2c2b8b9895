//! Uptime guarantees: the node stays on the market until a date with a promised uptime, backed by a part of its stake.
//!
//! Two things are counted: whole periods within the guarantee for which a leaf was applied, and the time that the node
//! was suspended for a fault that was not voided. Periods without a final report do not count. The stake cannot leave
//! before the guarantee is resolved, because the node can retire only after that.
//!
//! A broken guarantee costs the larger of a share of the required stake and an eighth of the revenue under it. Half of
//! that is burned, and the other half compensates the leases of the guaranteed time. Whoever owns node and customers
//! loses by a guarantee that it does not keep: its leases get back no more than the pool, and what is burned, a sixteenth
//! of the revenue or more, is more than the discount of a twentieth that the guarantee brought. A lease that was served
//! well has no more of the pool than its part of the time, and no more than it has paid.

use anchor_lang::prelude::*;

use crate::constants::{
    BPS, GUARANTEE_BPS_MIN, GUARANTEE_REVENUE_PART, MAX_GUARANTEE_SECS, SECONDS_PER_HOUR, STAKE_UNIT,
};
use crate::errors::OrOverflow;
use crate::math::fees::{bps_of, part_of};
use crate::math::guarantee::kept;
use crate::math::periods::period_end;
use crate::math::slashing::harm_in_stake;
use crate::state::{Lease, Node, NODE_ACTIVE, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED};

impl Node {
    /// Whether the node has a guarantee, running or not resolved yet.
    pub fn is_guaranteed(&self) -> bool {
        self.guaranteed_until != 0
    }

    pub(crate) fn guarantee_sound(&self) -> bool {
        if !self.is_guaranteed() {
            return self.guarantee_bps == 0
                && self.guarantee_counted_secs == 0
                && self.guarantee_open == 0
                && self.guarantee_revenue == 0;
        }
        self.guarantee_bps >= GUARANTEE_BPS_MIN
            && (self.guarantee_bps as u64) <= BPS
            && self.guaranteed_since < self.guaranteed_until
            && self.guarantee_up_secs <= self.guarantee_counted_secs
            && self.guarantee_open <= self.open_leases
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
        self.class_since = 0;
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

    /// The seconds of the guarantee that count, with the time of a suspension that goes on as down.
    fn counted_secs(&self, now: i64) -> Result<u64> {
        if self.status != NODE_SUSPENDED || !self.is_guaranteed() {
            return Ok(self.guarantee_counted_secs);
        }
        let from = self.suspended_at.max(self.guaranteed_since);
        let away = now.min(self.guaranteed_until).saturating_sub(from).max(0);
        self.guarantee_counted_secs.checked_add(away as u64).or_overflow()
    }

    /// Whether the guarantee was kept so far.
    pub fn keeps_guarantee(&self, now: i64) -> Result<bool> {
        Ok(kept(self.guarantee_up_secs, self.counted_secs(now)?, self.guarantee_bps))
    }

    /// The provider's wallet, or the agent of a node that was not suspended, sets the status.
    pub fn set_status(&mut self, status: u8, now: i64) -> Result<()> {
        self.guarantee_counted_secs = self.counted_secs(now)?;
        if self.status == NODE_SUSPENDED {
            self.mend(now);
        }
        // Who comes back from a state in which it is not measured is measured before it is awarded anything.
        if status == NODE_HIBERNATED {
            self.class_since = 0;
        }
        if self.status != NODE_ACTIVE {
            self.available_since = now;
        }
        // Nobody is left that it can have harmed before: a later fault is not about the time asleep.
        if self.status == NODE_HIBERNATED && self.open_leases == 0 {
            self.good_since = now;
        }
        self.status = status;
        Ok(())
    }

    /// How long a guarantee may last: a longer one could earn more by its discount than the stake can cost.
    pub fn longest_guarantee(&self, reference_price: u64, stake_price: u64) -> Result<i64> {
        let worth = (self.required_stake as u128).checked_mul(stake_price as u128).or_overflow()?;
        let worth = worth.checked_div(STAKE_UNIT as u128).or_overflow()?;
        let earned = worth.checked_mul(GUARANTEE_REVENUE_PART as u128).or_overflow()?;
        let covered = earned.checked_mul(SECONDS_PER_HOUR as u128).or_overflow()?;
        let hourly = (reference_price as u128).checked_mul(self.spec.gpus as u128).or_overflow()?;
        let longest = covered.checked_div(hourly.max(1)).or_overflow()?;
        Ok(i64::try_from(longest).unwrap_or(MAX_GUARANTEE_SECS).min(MAX_GUARANTEE_SECS))
    }

    /// A lease was awarded; before the end of a guarantee its pay counts.
    pub fn note_lease(&mut self, now: i64) -> Result<()> {
        self.open_leases = self.open_leases.checked_add(1).or_overflow()?;
        let counts = now < self.guaranteed_until;
        self.guarantee_open = self.guarantee_open.checked_add(u16::from(counts)).or_overflow()?;
        Ok(())
    }

    /// A lease of the node is gone.
    pub fn forget_lease(&mut self, lease: &Lease) -> Result<()> {
        self.open_leases = self.open_leases.checked_sub(1).or_overflow()?;
        self.cut_leases = self.cut_leases.checked_sub(lease.cut as u16).or_overflow()?;
        let counts = self.guarantee_counts(lease);
        self.guarantee_open = self.guarantee_open.checked_sub(u16::from(counts)).or_overflow()?;
        Ok(())
    }

    /// Whether the guarantee is still to count what the lease has paid.
    pub fn guarantee_counts(&self, lease: &Lease) -> bool {
        lease.awarded_at < self.guaranteed_until && lease.counted_until != self.guaranteed_until
    }

    /// Counts what a lease that closes, or is open when the guarantee is resolved, was paid for time within it, of its
    /// first `seconds` paid ones.
    pub fn count_revenue(&mut self, lease: &Lease, seconds: u32) -> Result<()> {
        if lease.counted_until == self.guaranteed_until {
            return Ok(());
        }
        let within = lease.secs_within(seconds, self.guaranteed_since, self.guaranteed_until)?;
        if within > 0 {
            let paid = part_of(lease.owed(seconds)?, within as u64, seconds as u64)?;
            self.guarantee_revenue = self.guarantee_revenue.checked_add(paid).or_overflow()?;
        }
        Ok(())
    }

    /// When all is known about it: the leaf of the last period had its time, and then an appeal that voids the fault of a
    /// suspended node.
    pub fn guarantee_known_at(&self) -> Result<i64> {
        self.guaranteed_until
            .checked_add(self.guarantee_settle_secs as i64)
            .and_then(|known| known.checked_add(self.guarantee_appeal_secs as i64))
            .or_overflow()
    }

    /// Ends the guarantee and returns what it was.
    pub fn close_guarantee(&mut self, now: i64) -> Result<GuaranteeOutcome> {
        let counted_secs = self.counted_secs(now)?;
        let part = self.guarantee_revenue / GUARANTEE_REVENUE_PART;
        // Where it does not fit a number, it is more than the node has.
        let by_revenue = harm_in_stake(part, self.guarantee_stake_price).unwrap_or(u64::MAX);
        let outcome = GuaranteeOutcome {
            since: self.guaranteed_since,
            until: self.guaranteed_until,
            bps: self.guarantee_bps,
            up_secs: self.guarantee_up_secs,
            counted_secs,
            cost: bps_of(self.required_stake, self.slash_guarantee_bps)?.max(by_revenue),
        };
        self.guaranteed_since = 0;
        self.guaranteed_until = 0;
        self.guarantee_bps = 0;
        self.guarantee_up_secs = 0;
        self.guarantee_counted_secs = 0;
        self.guarantee_revenue = 0;
        self.guarantee_open = 0;
        Ok(outcome)
    }
}

/// A guarantee that is over.
pub struct GuaranteeOutcome {
    pub since: i64,
    pub until: i64,
    pub bps: u16,
    pub up_secs: u64,
    pub counted_secs: u64,
    /// What it costs if it was broken, whether or not the node has it.
    pub cost: u64,
}

impl GuaranteeOutcome {
    pub fn kept(&self) -> bool {
        kept(self.up_secs, self.counted_secs, self.bps)
    }
}
