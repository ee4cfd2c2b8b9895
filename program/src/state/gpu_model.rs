//! A GPU model: what a node of it must have in stake, and what it is measured by.

use anchor_lang::prelude::*;

use crate::constants::{
    HARM_COVER_BPS, MODEL_STEP, SECONDS_PER_HOUR, STAKE_UNIT, WORK_BOUND_MS_MAX, WORK_BOUND_MS_MIN,
    WORK_CHUNK, WORK_MAX_ORDER,
};
use crate::errors::{MarketError, OrOverflow};
use crate::state::{MeasureProfile, Params};

/// What governance may change of a model, behind the timelock and by [`MODEL_STEP`] at most at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct ModelTerms {
    /// Stake per GPU, base units of the stake token.
    pub min_stake: u64,
    /// Reference price, µUSDC per GPU-hour.
    pub reference_price: u64,
    /// Side of the work proof's matrices.
    pub work_size: u32,
    /// Longest time a work proof of that size may take, milliseconds.
    pub work_bound_ms: u32,
    /// Evidence tier below which a node of this model is not awarded.
    pub min_tier: u8,
    pub pad: [u8; 3],
    /// What its GPUs are measured by.
    pub profile: MeasureProfile,
}

/// Whether neither is more than [`MODEL_STEP`] times the other.
pub(crate) fn within_step(a: u64, b: u64) -> bool {
    a <= b.saturating_mul(MODEL_STEP) && b <= a.saturating_mul(MODEL_STEP)
}

impl ModelTerms {
    /// Refuses values that make no sense, or that no machine could meet.
    pub fn validate(&self) -> Result<()> {
        let sound = self.min_stake > 0
            && self.reference_price > 0
            && (WORK_CHUNK..=WORK_MAX_ORDER).contains(&self.work_size)
            && self.work_size.is_multiple_of(WORK_CHUNK)
            && (WORK_BOUND_MS_MIN..=WORK_BOUND_MS_MAX).contains(&self.work_bound_ms)
            && self.min_tier <= 3;
        require!(sound, MarketError::ParameterOutOfRange);
        self.profile.validate()
    }

    /// Whether these terms are one step from `old` at most. A work proof takes size³ multiplications: its rate is bound
    /// as well, or one step in each of the two would make it sixteen times as hard.
    pub fn near(&self, old: &Self) -> Result<bool> {
        Ok(within_step(self.min_stake, old.min_stake)
            && within_step(self.reference_price, old.reference_price)
            && within_step(self.work_size as u64, old.work_size as u64)
            && within_step(self.work_bound_ms as u64, old.work_bound_ms as u64)
            && self.work(old.work_bound_ms)?
                <= old.work(self.work_bound_ms)?.checked_mul(MODEL_STEP as u128).or_overflow()?
            && self.min_tier <= old.min_tier.saturating_add(1)
            && self.profile.near(&old.profile)?)
    }

    /// Multiplications of one proof, times another's bound: compares rates without dividing.
    fn work(&self, bound_ms: u32) -> Result<u128> {
        let size = self.work_size as u128;
        size.checked_mul(size)
            .and_then(|n| n.checked_mul(size))
            .and_then(|n| n.checked_mul(bound_ms as u128))
            .or_overflow()
    }

    /// Whether the smallest slash for a machine that is not what it claims, at the governance price, is at least
    /// [`HARM_COVER_BPS`] of what customers pay, at the reference price, from its last pass until a report can say so: two
    /// periods.
    pub fn covers_harm(&self, params: &Params) -> Result<bool> {
        let slash = (self.min_stake as u128)
            .checked_mul(params.slash_work_failed_bps as u128)
            .and_then(|n| n.checked_mul(params.stake_price as u128))
            .and_then(|n| n.checked_mul(SECONDS_PER_HOUR as u128))
            .or_overflow()?;
        let harm = (self.reference_price as u128)
            .checked_mul(params.period_secs as u128)
            .and_then(|n| n.checked_mul(2))
            .and_then(|n| n.checked_mul(HARM_COVER_BPS as u128))
            .and_then(|n| n.checked_mul(STAKE_UNIT as u128))
            .or_overflow()?;
        Ok(slash >= harm)
    }
}

#[account]
pub struct GpuModel {
    /// Stake per GPU, base units of the stake token.
    pub min_stake: u64,
    /// Reference price, µUSDC per GPU-hour.
    pub reference_price: u64,
    /// What its GPUs are measured by, and what they were measured by before that was changed last: what was committed to
    /// by then stays right, and provable.
    pub profile: MeasureProfile,
    pub previous_profile: MeasureProfile,
    /// When its terms came into force; 0 before the first have.
    pub since: i64,
    /// When `pending` may be applied; 0 when nothing is pending.
    pub pending_eta: i64,
    pub pending: ModelTerms,
    /// UTF-8, padded with zeroes.
    pub name: [u8; 32],
    pub vram_mib: u32,
    /// Dense FP16 TFLOPS × 10.
    pub tflops_x10: u32,
    /// Side of the work proof's matrices.
    pub work_size: u32,
    /// Longest time a work proof of that size may take, milliseconds.
    pub work_bound_ms: u32,
    pub id: u16,
    /// Evidence tier below which a node of this model is not awarded.
    pub min_tier: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 3],
}

impl GpuModel {
    pub fn in_force(&self) -> bool {
        self.since != 0
    }

    pub fn terms(&self) -> ModelTerms {
        ModelTerms {
            min_stake: self.min_stake,
            reference_price: self.reference_price,
            work_size: self.work_size,
            work_bound_ms: self.work_bound_ms,
            min_tier: self.min_tier,
            pad: [0; 3],
            profile: self.profile,
        }
    }

    /// The profile that a machine was measured by, of that hash.
    pub fn profile_of(&self, hash: &[u8; 32]) -> Option<MeasureProfile> {
        [self.profile, self.previous_profile].into_iter().find(|profile| profile.hash() == *hash)
    }

    /// The pending terms are in force from `now` on.
    pub fn put_into_force(&mut self, now: i64) {
        let ModelTerms { min_stake, reference_price, work_size, work_bound_ms, min_tier, profile, .. } =
            self.pending;
        if profile != self.profile {
            // The first has none before it.
            self.previous_profile = if self.in_force() { self.profile } else { profile };
            self.profile = profile;
        }
        (self.min_stake, self.reference_price) = (min_stake, reference_price);
        (self.work_size, self.work_bound_ms, self.min_tier) = (work_size, work_bound_ms, min_tier);
        self.pending = bytemuck::Zeroable::zeroed();
        self.pending_eta = 0;
        self.since = now;
    }

    pub fn invariant(&self) -> Result<()> {
        let sound = self.id != 0
            && self.vram_mib > 0
            && self.tflops_x10 > 0
            && (self.in_force() || self.pending_eta != 0)
            && (!self.in_force() || self.terms().validate().is_ok())
            && (self.pending_eta == 0 || self.pending.validate().is_ok());
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
