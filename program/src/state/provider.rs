//! A provider: its stake, the part of it that is its nodes' own, and what is on its way out.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::math::reputation::dispute_bps;

#[account]
pub struct Provider {
    pub wallet: Address,
    /// Payment-token account that earnings go to.
    pub payout: Address,
    pub stake: u64,
    /// Asked back; no node's any more.
    pub unstaking: u64,
    /// When `unstaking` may be withdrawn.
    pub unstake_at: i64,
    /// Sum of the stake of all nodes that are not closed: never more than `stake`.
    pub locked_stake: u64,
    pub slashed_total: u64,
    pub registered_at: i64,
    /// Stake tokens that fees of its customers have earned and that it has not claimed, each fee by the parameters of the
    /// time at which it was swept.
    pub emission: u64,
    /// When a dispute was last lost.
    pub dispute_lost_at: i64,
    pub node_count: u32,
    pub live_leases: u32,
    /// Faults opened and neither applied nor voided: the stake stays where it is.
    pub pending_faults: u32,
    /// Disputes about its nodes' leases that ended with a slash. A new node takes them along.
    pub disputes_lost: u32,
    /// What they take off a reputation, as of `dispute_lost_at`.
    pub dispute_bps: u16,
    pub version: u8,
    pub bump: u8,
    pub vault_bump: u8,
    pub reserved: [u8; 3],
}

impl Provider {
    /// Stake that no node has.
    pub fn free_stake(&self) -> Result<u64> {
        self.stake.checked_sub(self.locked_stake).or_overflow()
    }

    /// What the vault must hold.
    pub fn held(&self) -> Result<u64> {
        self.stake.checked_add(self.unstaking).or_overflow()
    }

    /// A dispute of one of its leases was lost for good.
    pub fn lose_dispute(&mut self, now: i64) {
        self.disputes_lost = self.disputes_lost.saturating_add(1);
        self.dispute_bps = dispute_bps(self.dispute_bps, self.dispute_lost_at, now);
        self.dispute_lost_at = now;
    }

    /// `vault` is the token balance of the stake vault. Anyone may send tokens to it, so it may hold more.
    #[inline(never)]
    pub fn invariant(&self, vault: u64) -> Result<()> {
        let sound = vault >= self.held()? && self.stake >= self.locked_stake;
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
