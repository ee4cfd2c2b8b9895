//! An owner of machines: stake, what the machines need of it, and faults that hold it.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError, OrOverflow};

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
    pub committed: u64,
    pub slashed_total: u64,
    pub registered_at: i64,
    pub node_count: u32,
    pub live_leases: u32,
    /// Faults opened and neither applied nor voided: the stake stays where it is.
    pub pending_faults: u32,
    pub version: u8,
    pub bump: u8,
    pub vault_bump: u8,
    pub reserved: [u8; 33],
}

impl Provider {
    /// What the vault must hold.
    pub fn held(&self) -> Result<u64> {
        self.stake.checked_add(self.unstaking).or_overflow()
    }

    /// `vault` is the token balance of the stake vault. Anyone may send tokens to it, so it may hold more.
    pub fn invariant(&self, vault: u64) -> Result<()> {
        if vault >= self.held()? {
            Ok(())
        } else {
            fail(MarketError::InvariantBroken)
        }
    }
}
