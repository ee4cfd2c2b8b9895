//! A node's own stake: the part of its provider's stake that its faults reserve and its slashes take. No slash touches
//! the stake of another node, nor what the provider has asked back.

use anchor_lang::prelude::*;

use crate::errors::OrOverflow;
use crate::state::{Lease, Node, Provider};

impl Node {
    /// What no open fault holds.
    pub fn available_stake(&self) -> u64 {
        self.stake.saturating_sub(self.reserved_stake)
    }

    /// Whether the available stake is what the node needs. A node that is not covered is awarded nothing.
    pub fn covered(&self) -> bool {
        self.available_stake() >= self.required_stake
    }

    /// Holds `amount` of the stake for a fault, or what is available, and says how much that is.
    pub fn reserve(&mut self, amount: u64) -> Result<u64> {
        let reserved = amount.min(self.available_stake());
        self.reserved_stake = self.reserved_stake.checked_add(reserved).or_overflow()?;
        Ok(reserved)
    }

    /// Gives back what a fault held. A fault that was applied gives back first and takes then.
    pub fn release(&mut self, amount: u64, now: i64) -> Result<()> {
        let before = self.covered();
        self.reserved_stake = self.reserved_stake.checked_sub(amount).or_overflow()?;
        self.note_cover(before, now);
        Ok(())
    }

    /// Takes `amount` of the available stake, or what there is, and says how much that was. Leases of a node that is
    /// not covered after it bill for one more period: so long its provider has to top it up.
    pub fn take_stake(
        &mut self,
        provider: &mut Provider,
        amount: u64,
        now: i64,
        period_secs: u32,
    ) -> Result<u64> {
        let taken = amount.min(self.available_stake());
        self.stake = self.stake.checked_sub(taken).or_overflow()?;
        provider.stake = provider.stake.checked_sub(taken).or_overflow()?;
        provider.locked_stake = provider.locked_stake.checked_sub(taken).or_overflow()?;
        provider.slashed_total = provider.slashed_total.checked_add(taken).or_overflow()?;
        if taken > 0 && self.billing_until == 0 && self.stake < self.required_stake {
            self.billing_until = now.checked_add(period_secs as i64).or_overflow()?;
        }
        Ok(taken)
    }

    /// Moves stake between the node and its provider until what is available is what the node needs: what is missing
    /// comes from stake that no node has, what is too much becomes that. False when there is too little of it, or when
    /// leases are left that have stopped billing: these must end before the node is covered again. Then nothing moves.
    pub fn level_stake(&mut self, provider: &mut Provider, now: i64) -> Result<bool> {
        let before = self.covered();
        let wanted = self.required_stake.checked_add(self.reserved_stake).or_overflow()?;
        let missing = wanted.saturating_sub(self.stake);
        let stopped = self.billing_until != 0 && now >= self.billing_until && self.live_leases > 0;
        if missing > provider.free_stake()? || stopped {
            return Ok(false);
        }
        let others = provider.locked_stake.checked_sub(self.stake).or_overflow()?;
        provider.locked_stake = others.checked_add(wanted).or_overflow()?;
        self.stake = wanted;
        self.billing_until = 0;
        self.note_cover(before, now);
        Ok(true)
    }

    /// When a running lease of the node has stopped billing before its funds ran out, because the node was slashed and not
    /// topped up. What is paid stays paid.
    pub fn stopped_billing(&self, lease: &Lease, now: i64) -> Result<Option<i64>> {
        let until = self.billing_until;
        if until == 0 || now < until || until >= lease.funded_until {
            return Ok(None);
        }
        let settled = (lease.downtime_secs as i64).checked_add(lease.paid_secs as i64).or_overflow()?;
        let paid_until = lease.started_at.checked_add(settled).or_overflow()?;
        Ok(Some(until.max(paid_until)))
    }

    fn note_cover(&mut self, before: bool, now: i64) {
        if !before && self.covered() {
            self.covered_since = now;
        }
    }
}
