//! A sealed order's auction: its deadlines, and the bar that its awards were measured by.
//!
//! It has an account of its own, so that instant orders pay no rent for it.

use anchor_lang::prelude::*;

use crate::constants::MAX_SEALED_NODES;
use crate::errors::{MarketError, OrOverflow};
use crate::math::bid::{beats, Standing};

#[account]
pub struct Auction {
    pub order: Address,
    pub rent_payer: Address,
    /// Wallet of the keeper that made the first award, and makes the others in its time; zero before.
    pub keeper: Address,
    /// Merkle root of every commitment and reveal that the keeper saw.
    pub bids_root: [u8; 32],
    /// Node of the best losing bid; zero when every bid won.
    pub bar_node: Address,
    pub winners: [Address; 8],
    /// Score of the best losing bid: what the winners' prices follow from.
    pub bar_score: u64,
    /// Commitments count until then.
    pub close_at: i64,
    /// Reveals count until then; awards come after it.
    pub reveal_until: i64,
    /// 0 before the first award.
    pub awarded_at: i64,
    /// Until then the award may be shown to be unjust.
    pub challenge_until: i64,
    pub bar_reputation_bps: u16,
    pub winner_count: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 3],
}

impl Auction {
    /// The best losing bid, if any bid lost.
    pub fn bar(&self) -> Option<Standing> {
        (self.bar_node != Address::default()).then_some(Standing {
            score: self.bar_score,
            reputation_bps: self.bar_reputation_bps,
            node: self.bar_node,
        })
    }

    /// Names the best losing bid. One that was named before is replaced by one that stands behind it, or by none: the winners
    /// were admitted by it.
    pub fn name_bar(&mut self, bar: Option<Standing>) {
        let replaces = self.winner_count == 0
            || self.bar().is_some_and(|held| match &bar {
                Some(bar) => held.node != bar.node && beats(&self.order, &held, bar),
                None => true,
            });
        if replaces {
            self.bar_node = bar.as_ref().map_or(Address::default(), |bar| bar.node);
            self.bar_score = bar.as_ref().map_or(0, |bar| bar.score);
            self.bar_reputation_bps = bar.as_ref().map_or(0, |bar| bar.reputation_bps);
        }
    }

    /// The last second in which only the keeper of the first award makes the others: half of the time to award.
    pub fn completable_after(&self, award_deadline: i64) -> i64 {
        let half = award_deadline.saturating_sub(self.reveal_until) / 2;
        self.reveal_until.saturating_add(half)
    }

    /// Adds a winner, which must stand before the best losing bid and win once. Its own second bid is not the one that
    /// lost: it would set its own price.
    pub fn admit(&mut self, winner: &Standing) -> Result<()> {
        if let Some(bar) = self.bar() {
            require!(winner.node != bar.node && beats(&self.order, winner, &bar), MarketError::BidDoesNotWin);
        }
        let slot = self.winners.get_mut(self.winner_count as usize);
        *slot.ok_or(MarketError::InvariantBroken)? = winner.node;
        self.winner_count = self.winner_count.checked_add(1).or_overflow()?;
        Ok(())
    }

    pub fn invariant(&self) -> Result<()> {
        let awarded = self.awarded_at != 0;
        let sound = self.winner_count <= MAX_SEALED_NODES
            && awarded == (self.winner_count > 0)
            && awarded == (self.keeper != Address::default())
            && self.close_at < self.reveal_until
            && (!awarded || self.awarded_at > self.reveal_until);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
