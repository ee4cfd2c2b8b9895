//! One period's votes, and the root they end in.

use anchor_lang::prelude::*;

use crate::constants::{BPS, MAX_CANDIDATES};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::planted::planted;
use crate::state::{add_voter, Keeper, Voters};

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
    pub candidates: [Candidate; 4],
    /// µUSDC set aside for those who voted for the root, what is left of it, and the weight that shares it.
    pub reward: u64,
    pub reward_left: u64,
    pub reward_weight: u64,
    /// Of them, those who have not claimed.
    pub reward_voters: [u8; 32],
    pub status: u8,
    pub candidate_count: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 12],
}

impl Report {
    /// Counts one vote; false when the same keeper has voted for the same root before.
    pub fn vote(&mut self, root: &[u8; 32], keeper: u16, wallet: &Address, weight: u64) -> Result<bool> {
        let count = self.candidate_count as usize;
        let known = self.candidates.iter().take(count).position(|candidate| candidate.root == *root);
        let mut voters: Voters = self.voters;
        if planted!(7, !add_voter(&mut voters, keeper)? && known.is_none(), !add_voter(&mut voters, keeper)?)
        {
            let mut again = known.and_then(|at| self.candidates.get(at)).map_or([0; 32], |c| c.voters);
            // Voting the same root again changes nothing; another root is refused.
            return if known.is_some() && !add_voter(&mut again, keeper)? {
                Ok(false)
            } else {
                fail(MarketError::AlreadyVoted)
            };
        }
        let at = match known {
            Some(at) => at,
            None if count < MAX_CANDIDATES => {
                self.candidate_count = self.candidate_count.checked_add(1).or_overflow()?;
                count
            }
            None => return fail(MarketError::TooManyCandidates),
        };
        match self.candidates.get_mut(at) {
            Some(candidate) => {
                if known.is_none() {
                    candidate.root = *root;
                    candidate.proposer = *wallet;
                }
                add_voter(&mut candidate.voters, keeper)?;
                candidate.weight = candidate.weight.checked_add(weight).or_overflow()?;
            }
            None => return fail(MarketError::InvariantBroken),
        }
        self.voters = voters;
        Ok(true)
    }

    /// Makes the report final when a root has more than the quorum.
    pub fn finalise(&mut self, quorum_bps: u16, now: i64) -> bool {
        if self.status == REPORT_FINAL {
            return false;
        }
        let needed = (self.total_weight as u128).saturating_mul(planted!(20, 5_000, quorum_bps) as u128);
        let winner = self
            .candidates
            .iter()
            .take(self.candidate_count as usize)
            .find(|candidate| (candidate.weight as u128).saturating_mul(BPS as u128) >= needed);
        match winner {
            Some(candidate) => {
                self.root = candidate.root;
                self.proposer = candidate.proposer;
                self.status = REPORT_FINAL;
                self.finalised_at = now;
                true
            }
            None => false,
        }
    }

    /// Sets a reward aside for everyone who has voted for the final root by now.
    pub fn reward_with(&mut self, amount: u64) -> Result<()> {
        let root = self.root;
        let winner = self.candidates.iter().take(self.candidate_count as usize).find(|c| c.root == root);
        let (weight, voters) = match winner {
            Some(candidate) => (candidate.weight, candidate.voters),
            None => return fail(MarketError::InvariantBroken),
        };
        self.reward = amount;
        self.reward_left = amount;
        self.reward_weight = weight;
        self.reward_voters = voters;
        Ok(())
    }

    /// A voter's share of the reward, by its weight; 0 when it has none or took it. A keeper that is leaving weighs
    /// nothing any more, and one that took over a former keeper's place is not that keeper.
    pub fn take_reward(&mut self, keeper: &Keeper) -> Result<u64> {
        let (byte, bit) = (keeper.index as usize / 8, 1u8 << (keeper.index % 8));
        let voted = match self.reward_voters.get_mut(byte) {
            Some(slot) if planted!(34, true, *slot & bit != 0) && keeper.registered_at <= self.created_at => {
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

    pub fn invariant(&self) -> Result<()> {
        let mut sum = 0u64;
        for candidate in &self.candidates {
            sum = sum.checked_add(candidate.weight).or_overflow()?;
        }
        if sum <= self.total_weight
            && self.reward_left <= self.reward
            && (self.status == REPORT_FINAL) == (self.finalised_at != 0)
        {
            Ok(())
        } else {
            fail(MarketError::InvariantBroken)
        }
    }
}
