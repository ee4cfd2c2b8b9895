//! What keepers say of a node that does not answer them: votes within half a minute of each other, and what they come to.
//!
//! The latest of the last answers counts: what is best for the node. No vote is taken back, and none outlives its window.

use anchor_lang::prelude::*;

use crate::constants::{AWARD_VIEW_SECS, BPS, OUTAGE_HOLD_SECS, OUTAGE_MOVE_SECS, OUTAGE_VOTE_SECS, VERSION};
use crate::errors::{MarketError, OrOverflow};
use crate::state::{add_voter, Keeper, Node, Unhealthy};

#[account]
pub struct Outage {
    pub node: Address,
    pub rent_payer: Address,
    /// Keepers whose votes are counted.
    pub voters: [u8; 32],
    pub weight: u64,
    /// Bonded weight at the vote when there was the most of it.
    pub total_weight: u64,
    /// When the first of the votes came; 0 before.
    pub opened_at: i64,
    /// The latest last answer that a voter had.
    pub last_answer: i64,
    /// When the quorum was reached; 0 before.
    pub seen_at: i64,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 6],
}

impl Outage {
    /// Whether its votes, and what they came to, count no more.
    pub fn over(&self, now: i64) -> Result<bool> {
        let until = match self.seen_at {
            0 => self.opened_at.checked_add(OUTAGE_VOTE_SECS),
            seen => seen.checked_add(OUTAGE_MOVE_SECS),
        };
        Ok(now > until.or_overflow()?)
    }

    /// Forgets what it knew. Who paid its rent stays.
    pub fn begin(&mut self, node: Address, payer: Address, bump: u8, now: i64) {
        if self.version == 0 {
            self.node = node;
            self.rent_payer = payer;
            self.bump = bump;
            self.version = VERSION;
        }
        self.voters = [0; 32];
        (self.weight, self.total_weight) = (0, 0);
        (self.opened_at, self.last_answer, self.seen_at) = (now, 0, 0);
    }

    /// Counts a keeper's vote; true when it completes the quorum. Weight that came after the first vote has no part in it.
    pub fn vote(
        &mut self,
        keeper: &Keeper,
        last_answer: i64,
        total: u64,
        quorum_bps: u16,
        now: i64,
    ) -> Result<bool> {
        require!(keeper.active_since < self.opened_at, MarketError::KeeperNotActive);
        require!(self.seen_at == 0 && add_voter(&mut self.voters, keeper.index)?, MarketError::AlreadyVoted);
        self.weight = self.weight.checked_add(keeper.weight).or_overflow()?;
        self.total_weight = self.total_weight.max(total);
        self.last_answer = self.last_answer.max(last_answer);
        let needed = (self.total_weight as u128).saturating_mul(quorum_bps as u128);
        if self.weight > 0 && (self.weight as u128).saturating_mul(BPS as u128) >= needed {
            self.seen_at = now;
        }
        Ok(self.seen_at != 0)
    }

    pub fn invariant(&self) -> Result<()> {
        let sound = self.weight <= self.total_weight
            && self.opened_at != 0
            && self.last_answer < self.opened_at.max(self.seen_at).saturating_add(OUTAGE_VOTE_SECS)
            && (self.seen_at == 0 || self.seen_at >= self.opened_at);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}

impl Node {
    /// It was away by the keepers' quorum: no new award for a while, as if a report had called it unhealthy. That counts
    /// for orders from before its last answer on too, by as much as keepers may learn of a change late; no keeper could hold
    /// the vote back for long.
    pub fn note_away(&mut self, last_answer: i64, period_secs: u32, now: i64) -> Result<()> {
        let until = now.checked_add(OUTAGE_HOLD_SECS.min(period_secs as i64)).or_overflow()?;
        let since = last_answer.checked_sub(AWARD_VIEW_SECS).or_overflow()?;
        let spell = &mut self.unhealthy;
        if now < spell.until {
            spell.since = spell.since.min(since);
            spell.until = spell.until.max(until);
        } else {
            *spell = Unhealthy { since, until, former_until: spell.until };
        }
        Ok(())
    }
}
