//! What a fault does to the money of leases: seconds since the machine was last known to be good are not paid while the
//! fault is open, and never once it was applied.

use anchor_lang::prelude::*;

use crate::constants::DAY;
use crate::errors::OrOverflow;
use crate::events::{LeaseCut, LeaseFailed};
use crate::math::pricing::cost;
use crate::math::window::{mark, CLOSED};
use crate::state::{Lease, Node, LEASE_FAILED, LEASE_RUNNING};

/// A fault concerns no more than this before its period's end.
const LONGEST_WINDOW: i64 = 7 * DAY as i64;

/// The earlier of two instants, of which 0 is none.
fn earlier(one: i64, other: i64) -> i64 {
    if one == 0 {
        other
    } else {
        one.min(other)
    }
}

impl Node {
    /// Since when a fault found in the period `[start, end)` may have lasted.
    pub fn suspect_since(&self, start: i64, end: i64) -> i64 {
        self.good_since.min(start).max(end.saturating_sub(LONGEST_WINDOW))
    }

    /// Seconds from here on are not paid now.
    pub fn payable_until(&self, now: i64) -> i64 {
        [self.convicted_from, self.frozen_from, self.billing_until]
            .into_iter()
            .fold(now, |until, bound| earlier(bound, until))
    }

    /// A fault of the machine was opened.
    pub fn freeze(&mut self, from: i64) -> Result<()> {
        self.frozen_from = earlier(self.frozen_from, from);
        self.pending_node_faults = self.pending_node_faults.checked_add(1).or_overflow()?;
        Ok(())
    }

    /// It was applied or voided.
    pub fn thaw(&mut self, now: i64) -> Result<()> {
        self.pending_node_faults = self.pending_node_faults.checked_sub(1).or_overflow()?;
        if self.pending_node_faults == 0 {
            self.frozen_from = 0;
            self.unfrozen_at = now;
        }
        Ok(())
    }

    /// A fault of the machine stands, or bad work was proven: its leases end at `from`, or where their payment ends.
    pub fn convict(&mut self, from: i64, now: i64) {
        self.suspend(true, now);
        // Leases that a later conviction has ended must be ended anew, or be gone, before the node is mended.
        self.recut |= u8::from(self.cut_leases > 0 && from < self.convicted_from);
        self.convicted_from = earlier(self.convicted_from, from);
    }

    /// A GPU of it has died, nobody knows when: what was not paid since the machine was last known to be good never is, as
    /// after a conviction. But it is none: the wallet has nothing to mend, and a later death is no relapse.
    pub fn die(&mut self, now: i64) {
        self.suspend(false, now);
        self.convicted_from = earlier(self.convicted_from, self.suspect_since(now, now));
    }

    /// Its leases from `from` on may claim compensation until `until`; none of them closes before. Returns the number by
    /// which they remember that they had it.
    pub fn open_claims(&mut self, from: i64, until: i64, now: i64) -> Result<u32> {
        self.claims_from = if now < self.claims_until { self.claims_from.min(from) } else { from };
        self.claims_until = self.claims_until.max(until);
        self.convictions = self.convictions.checked_add(1).or_overflow()?;
        Ok(self.convictions)
    }

    /// Whether a fault that was applied, or may be, can still concern the lease.
    pub fn holds(&self, lease: &Lease, now: i64) -> bool {
        let since = |from: i64| lease.occupied() > from;
        let frozen = self.pending_node_faults > 0 && since(self.frozen_from);
        let compensated = lease.last_fault == self.convictions && lease.fault_window == CLOSED;
        frozen || (now < self.claims_until && since(self.claims_from) && !compensated)
    }

    /// Ends the lease where the conviction begins: what is not paid of it by then never will be. A conviction that begins
    /// earlier ends a lease earlier that another has ended.
    pub fn cut(&mut self, lease: &mut Account<Lease>, from: i64, now: i64) -> Result<()> {
        if lease.started_at == 0 {
            return Ok(());
        }
        let paid_until = lease.paid_until()?;
        if lease.cut == 1 {
            lease.ended_at = lease.ended_at.min(from.max(paid_until));
            return lease.invariant(now);
        }
        self.cut_leases = self.cut_leases.checked_add(1).or_overflow()?;
        lease.cut = 1;
        lease.occupied_until = if lease.ended_at == 0 { now.min(lease.funded_until) } else { lease.ended_at };
        lease.ended_at = lease.occupied_until.min(from).max(paid_until);
        if lease.status == LEASE_RUNNING {
            lease.status = LEASE_FAILED;
            let (period, ended_at) = (lease.last_report_period, lease.ended_at);
            emit!(LeaseFailed { lease: *lease.address(), period, ended_at });
        }
        emit!(LeaseCut { lease: *lease.address(), from, ended_at: lease.ended_at });
        lease.invariant(now)
    }

    /// Whether no lease is left that the conviction still has to cut.
    pub fn all_cut(&self) -> bool {
        self.open_leases == if self.recut == 0 { self.cut_leases } else { 0 }
    }
}

impl Lease {
    /// The first second after what is paid, as if downtime came before.
    pub fn paid_until(&self) -> Result<i64> {
        self.until(self.paid_secs)
    }

    /// The first second after so many that were up.
    fn until(&self, seconds: u32) -> Result<i64> {
        let passed = (self.downtime_secs as i64).checked_add(seconds as i64).or_overflow()?;
        self.started_at.checked_add(passed).or_overflow()
    }

    /// One more open fault names it.
    pub fn add_fault(&mut self, freezes: bool) -> Result<()> {
        self.pending_faults = self.pending_faults.checked_add(1).or_overflow()?;
        self.frozen = self.frozen.checked_add(u8::from(freezes)).or_overflow()?;
        Ok(())
    }

    /// One less.
    pub fn drop_fault(&mut self) -> Result<()> {
        self.pending_faults = self.pending_faults.checked_sub(1).or_overflow()?;
        Ok(())
    }

    /// One less of those that keep it from being paid.
    pub fn thaw(&mut self, freezes: bool) -> Result<()> {
        self.frozen = self.frozen.checked_sub(u8::from(freezes)).or_overflow()?;
        Ok(())
    }

    /// Until when it has had its GPUs, at the latest.
    pub fn occupied(&self) -> i64 {
        match (self.occupied_until, self.ended_at) {
            (0, 0) => self.funded_until,
            (0, ended_at) => ended_at,
            (until, _) => until,
        }
    }

    /// Seconds of `[from, until)` in which it had its GPUs.
    pub fn seconds_within(&self, from: i64, until: i64) -> u64 {
        overlap(self.started_at, self.occupied(), from, until)
    }

    /// Seconds of `[from, until)` that are paid.
    pub fn paid_secs_within(&self, from: i64, until: i64) -> Result<u32> {
        self.secs_within(self.paid_secs, from, until)
    }

    /// The same, were its first `seconds` paid.
    pub fn secs_within(&self, seconds: u32, from: i64, until: i64) -> Result<u32> {
        let within = overlap(self.started_at, self.until(seconds)?, from, until);
        Ok(u32::try_from(within).unwrap_or(u32::MAX).min(seconds))
    }

    /// What seconds of it are worth at no more than the reference price, µUSDC.
    pub fn worth(&self, seconds: u32, reference_price: u64) -> Result<u64> {
        cost(self.price.min(reference_price), self.gpus, seconds)
    }

    /// Notes that the conviction of this number has compensated it; false when it did before.
    pub fn note_fault(&mut self, serial: u32) -> bool {
        let marked = mark(self.last_fault as u64, self.fault_window, serial as u64);
        if let Some((_, window)) = marked {
            self.last_fault = self.last_fault.max(serial);
            self.fault_window = window;
        }
        marked.is_some()
    }
}

fn overlap(start: i64, end: i64, from: i64, until: i64) -> u64 {
    u64::try_from(end.min(until).saturating_sub(start.max(from))).unwrap_or(0)
}
