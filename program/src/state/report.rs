//! A report: the votes of one period's root, and the root that became final.

use anchor_lang::prelude::*;

use crate::constants::{BPS, HEAD_CANDIDATES};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::state::{add_voter, has_voter, remove_voter, Keeper};

pub const REPORT_OPEN: u8 = 1;
pub const REPORT_FINAL: u8 = 2;

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct Candidate {
    pub root: [u8; 32],
    /// Wallet of the first keeper that voted for it: the finder, should a slash follow.
    pub proposer: Address,
    pub weight: u64,
    pub voters: [u8; 32],
}

#[account]
pub struct Report {
    pub period: u64,
    /// Weight of all active keepers when the report was created.
    pub total_weight: u64,
    pub created_at: i64,
    /// 0 while open.
    pub finalised_at: i64,
    pub rent_payer: Address,
    /// Finalised root and its first voter.
    pub root: [u8; 32],
    pub proposer: Address,
    /// Keepers that voted, for any root.
    pub voters: [u8; 32],
    /// The heaviest roots. More of them, if there are, lie behind this struct: see report_tail.rs.
    pub candidates: [Candidate; HEAD_CANDIDATES],
    /// µUSDC set aside for those who voted for the root in time, what is left of it, and the weight that shares it.
    pub reward: u64,
    pub reward_left: u64,
    pub reward_weight: u64,
    /// Those who voted for it in time; once there is a reward, of them who has not claimed.
    pub reward_voters: [u8; 32],
    pub status: u8,
    pub candidate_count: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 12],
}

impl Candidate {
    /// Counts a vote. The first one names the root and its finder.
    fn add(&mut self, root: &[u8; 32], keeper: &Keeper) -> Result<()> {
        if self.voters == [0; 32] {
            self.root = *root;
            self.proposer = keeper.wallet;
        }
        add_voter(&mut self.voters, keeper.index)?;
        self.weight = self.weight.checked_add(keeper.weight).or_overflow()?;
        Ok(())
    }

    /// Takes a vote back. The keeper must weigh what it did when it was counted.
    fn remove(&mut self, keeper: &Keeper) -> Result<()> {
        remove_voter(&mut self.voters, keeper.index)?;
        self.weight = self.weight.checked_sub(keeper.weight).or_overflow()?;
        Ok(())
    }
}

/// Seconds after a report's finality in which votes still count as made in time.
pub fn vote_grace(period_secs: u32) -> i64 {
    ((period_secs / 60) as i64).max(5)
}

/// What a vote does.
#[derive(Clone, Copy)]
pub enum Ballot {
    First,
    /// It moves here from another root.
    Moved {
        from: Place,
        to: Place,
    },
    /// For the same root again: nothing.
    Again,
}

/// Where a root's votes are counted.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Head(usize),
    Tail(usize),
}

impl Report {
    /// Where a root with votes is; the tail is what [`report_parts`](crate::state::report_parts) gives.
    pub fn find(&self, tail: &[Candidate], root: &[u8; 32]) -> Option<Place> {
        let known = |candidate: &Candidate| candidate.root == *root;
        let count = self.candidate_count as usize;
        match self.candidates.iter().take(count).position(known) {
            Some(at) => Some(Place::Head(at)),
            None => tail.iter().position(known).map(Place::Tail),
        }
    }

    /// What a keeper's vote for a root does, which may be known or new.
    ///
    /// While the report is open a vote may move to a root that then weighs more than the one it leaves weighed. Keepers
    /// that a cut network has led to different roots come together so, and nobody can keep them apart: each move makes
    /// the sum of the squares of all weights larger, by 2w(Y + w − X) where a vote of weight w goes from weight X to
    /// weight Y, so that there is an end to them.
    pub fn ballot(&self, tail: &[Candidate], known: Option<Place>, keeper: &Keeper) -> Result<Ballot> {
        if !has_voter(&self.voters, keeper.index)? {
            return Ok(Ballot::First);
        }
        let from = self.vote_of(tail, keeper.index)?.ok_or(MarketError::InvariantBroken)?;
        let to = match known {
            Some(place) if place == from => return Ok(Ballot::Again),
            _ if self.status == REPORT_FINAL => return fail(MarketError::AlreadyVoted),
            // Its vote may have been counted with another weight: a proof has taken a part of its bond since.
            _ if keeper.weight_since >= self.created_at => return fail(MarketError::AlreadyVoted),
            Some(place) => place,
            None => return fail(MarketError::VoteNotHeavier),
        };
        let heavier = self.weight_at(tail, to)?.checked_add(keeper.weight).or_overflow()?;
        require!(heavier > self.weight_at(tail, from)?, MarketError::VoteNotHeavier);
        Ok(Ballot::Moved { from, to })
    }

    /// The place of the root that a keeper has voted for.
    fn vote_of(&self, tail: &[Candidate], keeper: u16) -> Result<Option<Place>> {
        for (at, candidate) in self.candidates.iter().enumerate() {
            if has_voter(&candidate.voters, keeper)? {
                return Ok(Some(Place::Head(at)));
            }
        }
        for (at, candidate) in tail.iter().enumerate() {
            if has_voter(&candidate.voters, keeper)? {
                return Ok(Some(Place::Tail(at)));
            }
        }
        Ok(None)
    }

    fn weight_at(&self, tail: &[Candidate], place: Place) -> Result<u64> {
        let candidate = match place {
            Place::Head(at) => self.candidates.get(at),
            Place::Tail(at) => tail.get(at),
        };
        Ok(candidate.ok_or(MarketError::InvariantBroken)?.weight)
    }

    fn candidate<'a>(&'a mut self, tail: &'a mut [Candidate], place: Place) -> Result<&'a mut Candidate> {
        let candidate = match place {
            Place::Head(at) => self.candidates.get_mut(at),
            Place::Tail(at) => tail.get_mut(at),
        };
        Ok(candidate.ok_or(MarketError::InvariantBroken)?)
    }

    /// Counts a keeper's first vote. A root that is not known takes the next place here, or the last one of the tail,
    /// which is free then.
    #[inline(never)]
    pub fn count(
        &mut self,
        tail: &mut [Candidate],
        known: Option<Place>,
        root: &[u8; 32],
        keeper: &Keeper,
    ) -> Result<()> {
        add_voter(&mut self.voters, keeper.index)?;
        let place = match known {
            Some(place) => place,
            None if !self.is_full() => {
                let next = self.candidate_count;
                self.candidate_count = next.checked_add(1).or_overflow()?;
                Place::Head(next as usize)
            }
            None => Place::Tail(tail.len().checked_sub(1).or_overflow()?),
        };
        self.candidate(tail, place)?.add(root, keeper)?;
        if let Place::Tail(at) = place {
            self.admit(tail.get_mut(at));
        }
        Ok(())
    }

    /// Moves a keeper's vote. A root that nobody votes for any more keeps its place.
    #[inline(never)]
    pub fn recount(
        &mut self,
        tail: &mut [Candidate],
        from: Place,
        to: Place,
        root: &[u8; 32],
        keeper: &Keeper,
    ) -> Result<()> {
        self.candidate(tail, from)?.remove(keeper)?;
        self.candidate(tail, to)?.add(root, keeper)?;
        self.admit(tail.iter_mut().max_by_key(|candidate| candidate.weight));
        Ok(())
    }

    /// Lets a root of the tail change places with the lightest one here if it has come to weigh more. A vote makes one
    /// root heavier and one lighter at most, so that one exchange restores the order.
    fn admit(&mut self, candidate: Option<&mut Candidate>) {
        let lightest = self.candidates.iter_mut().min_by_key(|candidate| candidate.weight);
        if let (Some(lightest), Some(candidate)) = (lightest, candidate) {
            if lightest.weight < candidate.weight {
                core::mem::swap(lightest, candidate);
            }
        }
    }

    /// Whether the next new root goes into the tail.
    pub fn is_full(&self) -> bool {
        self.candidate_count as usize >= HEAD_CANDIDATES
    }

    /// Makes the report final when a root has more than the quorum.
    pub fn finalise(&mut self, quorum_bps: u16, now: i64) -> bool {
        if self.status == REPORT_FINAL {
            return false;
        }
        let needed = (self.total_weight as u128).saturating_mul(quorum_bps as u128);
        let winner = self
            .candidates
            .iter()
            .take(self.candidate_count as usize)
            .find(|candidate| (candidate.weight as u128).saturating_mul(BPS as u128) >= needed);
        match winner {
            Some(candidate) => {
                self.root = candidate.root;
                self.proposer = candidate.proposer;
                (self.reward_weight, self.reward_voters) = (candidate.weight, candidate.voters);
                self.status = REPORT_FINAL;
                self.finalised_at = now;
                true
            }
            None => false,
        }
    }

    /// Whether a first vote comes in time: before the report is final, or so shortly after it that its keeper had seen
    /// to the period itself. Whoever waits to see which root wins has judged nothing.
    pub fn in_time(&self, period_secs: u32, now: i64) -> Result<bool> {
        let grace = vote_grace(period_secs);
        Ok(self.status != REPORT_FINAL || now <= self.finalised_at.checked_add(grace).or_overflow()?)
    }

    /// Counts a vote that came in time, after the report was final, for those who share its reward.
    pub fn admit_to_reward(&mut self, root: &[u8; 32], keeper: &Keeper) -> Result<()> {
        if self.status != REPORT_FINAL || *root != self.root || self.reward != 0 {
            return Ok(());
        }
        if add_voter(&mut self.reward_voters, keeper.index)? {
            self.reward_weight = self.reward_weight.checked_add(keeper.weight).or_overflow()?;
        }
        Ok(())
    }

    /// Sets a reward aside for everyone who has voted for the final root in time.
    pub fn reward_with(&mut self, amount: u64) {
        self.reward = amount;
        self.reward_left = amount;
    }

    /// A voter's share of the reward, by its weight; 0 when it has none or took it. A keeper that is leaving weighs
    /// nothing any more. One that became active since then did not vote: it took over a former keeper's place, or it was
    /// suspended and comes back with another weight. So no voter weighs more than when it voted.
    pub fn take_reward(&mut self, keeper: &Keeper) -> Result<u64> {
        if self.reward == 0 {
            return Ok(0);
        }
        let (byte, bit) = (keeper.index as usize / 8, 1u8 << (keeper.index % 8));
        let voted = match self.reward_voters.get_mut(byte) {
            Some(slot) if *slot & bit != 0 && keeper.active_since < self.created_at => {
                *slot &= !bit;
                true
            }
            _ => false,
        };
        if !voted {
            return Ok(0);
        }
        let product = (self.reward as u128).checked_mul(keeper.weight as u128).or_overflow()?;
        let share = product.checked_div(self.reward_weight as u128).or_overflow()?;
        let share = u64::try_from(share).ok().or_overflow()?.min(self.reward_left);
        self.reward_left = self.reward_left.checked_sub(share).or_overflow()?;
        Ok(share)
    }

    /// Votes weigh no more than all keepers; whatever is in the tail weighs no more than anything here.
    pub fn invariant(&self, tail: &[Candidate]) -> Result<()> {
        let (mut sum, mut lightest) = (0u64, u64::MAX);
        for candidate in &self.candidates {
            sum = sum.checked_add(candidate.weight).or_overflow()?;
            lightest = lightest.min(candidate.weight);
        }
        let mut ordered = true;
        for candidate in tail {
            sum = sum.checked_add(candidate.weight).or_overflow()?;
            ordered &= candidate.weight <= lightest;
        }
        require!(
            ordered
                && sum <= self.total_weight
                && self.reward_left <= self.reward
                && (self.status == REPORT_FINAL) == (self.finalised_at != 0),
            MarketError::InvariantBroken
        );
        Ok(())
    }
}
