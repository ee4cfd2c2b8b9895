//! A dispute: a customer's complaint about a lease, and the keepers' votes on it.

use anchor_lang::prelude::*;

use crate::constants::BPS;
use crate::errors::{MarketError, OrOverflow};
use crate::state::{add_voter, Voters};

/// The job did not run as it was ordered.
pub const DISPUTE_NOT_DELIVERED: u8 = 1;
/// The job ran and its output is wrong.
pub const DISPUTE_BAD_OUTPUT: u8 = 2;

#[account]
pub struct Dispute {
    pub lease: Address,
    pub node: Address,
    /// The claimant; it pays the rent and gets it back.
    pub customer: Address,
    /// sha256 of what the customer has published.
    pub evidence_hash: [u8; 32],
    pub upheld_voters: [u8; 32],
    pub rejected_voters: [u8; 32],
    pub upheld_weight: u64,
    pub rejected_weight: u64,
    /// Weight of all active keepers when the dispute was opened.
    pub total_weight: u64,
    /// µUSDC that Credits holds for it: lost when keepers reject it, a quarter of it when they do not decide.
    pub deposit: u64,
    /// What the slash may be, base units of the stake token. Of the node's own stake, which stays while a dispute is
    /// open; the provider's other stake is free to leave.
    pub amount: u64,
    /// Terms: what a stake token was worth when it was opened, µUSDC.
    pub stake_price: u64,
    pub opened_at: i64,
    pub closes_at: i64,
    /// Terms: the fault's time to appeal, the keepers' quorum, the claimant's share as the finder.
    pub appeal_secs: u32,
    pub quorum_bps: u16,
    pub finder_bps: u16,
    pub kind: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 5],
}

/// How far the votes have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Upheld,
    Rejected,
    /// Neither side has the quorum.
    None,
}

impl Dispute {
    /// Counts one vote; a keeper has one. Which side it takes earns it nothing.
    pub fn vote(&mut self, upheld: bool, keeper: u16, weight: u64) -> Result<()> {
        let (mut mine, mut other): (Voters, Voters) = if upheld {
            (self.upheld_voters, self.rejected_voters)
        } else {
            (self.rejected_voters, self.upheld_voters)
        };
        require!(add_voter(&mut mine, keeper)? && add_voter(&mut other, keeper)?, MarketError::AlreadyVoted);
        if upheld {
            self.upheld_voters = mine;
            self.upheld_weight = self.upheld_weight.checked_add(weight).or_overflow()?;
        } else {
            self.rejected_voters = mine;
            self.rejected_weight = self.rejected_weight.checked_add(weight).or_overflow()?;
        }
        Ok(())
    }

    pub fn verdict(&self) -> Verdict {
        let needed = (self.total_weight as u128).saturating_mul(self.quorum_bps as u128);
        let has = |weight: u64| weight > 0 && (weight as u128).saturating_mul(BPS as u128) >= needed;
        if has(self.upheld_weight) {
            Verdict::Upheld
        } else if has(self.rejected_weight) {
            Verdict::Rejected
        } else {
            Verdict::None
        }
    }

    pub fn invariant(&self) -> Result<()> {
        let votes = self.upheld_weight.checked_add(self.rejected_weight).or_overflow()?;
        require!(
            votes <= self.total_weight && self.closes_at >= self.opened_at,
            MarketError::InvariantBroken
        );
        Ok(())
    }
}
