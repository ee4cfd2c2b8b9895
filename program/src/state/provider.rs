//! A provider: its stake, the part of it that its nodes lock, and the faults that hold it.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};

#[account]
pub struct Provider {
    pub wallet: Address,
    /// Payment-token account that earnings go to.
    pub payout: Address,
    pub stake: u64,
    /// Asked back, still slashable until withdrawn.
    pub unstaking: u64,
    /// When `unstaking` may be withdrawn.
    pub unstake_at: i64,
    /// Sum of the required stake of all nodes that are not closed.
    pub locked_stake: u64,
    pub slashed_total: u64,
    pub registered_at: i64,
    /// Since when the stake has covered what the nodes need; means nothing while it does not.
    pub covered_since: i64,
    /// µUSDC of fees that its customers paid while emission was on, and that are not yet turned into stake.
    pub fees_paid: u64,
    pub node_count: u32,
    pub live_leases: u32,
    /// Faults opened and neither applied nor voided: the stake stays where it is.
    pub pending_faults: u32,
    pub version: u8,
    pub bump: u8,
    pub vault_bump: u8,
    pub reserved: [u8; 17],
}

impl Provider {
    /// Whether the stake covers what the registered nodes need.
    pub fn covered(&self) -> bool {
        self.stake >= self.locked_stake
    }

    /// Notes that the stake covers its need again, if it did not before.
    pub fn keep_covered(&mut self, before: bool, now: i64) {
        if !before && self.covered() {
            self.covered_since = now;
        }
    }

    /// What the vault must hold.
    pub fn held(&self) -> Result<u64> {
        self.stake.checked_add(self.unstaking).or_overflow()
    }

    /// Takes `amount`, or what there is, and says how much that was: of the stake first, then of what is being
    /// unstaked. Both are slashable until they are withdrawn.
    pub fn slash(&mut self, amount: u64) -> Result<u64> {
        let taken = amount.min(self.held()?);
        let from_stake = taken.min(self.stake);
        self.stake = self.stake.checked_sub(from_stake).or_overflow()?;
        let from_unstaking = taken.checked_sub(from_stake).or_overflow()?;
        self.unstaking = self.unstaking.checked_sub(from_unstaking).or_overflow()?;
        self.slashed_total = self.slashed_total.checked_add(taken).or_overflow()?;
        Ok(taken)
    }

    /// `vault` is the token balance of the stake vault. Anyone may send tokens to it, so it may hold more.
    pub fn invariant(&self, vault: u64) -> Result<()> {
        require!(vault >= self.held()?, MarketError::InvariantBroken);
        Ok(())
    }
}
