//! A GPU model: what a node of it must have in stake, and what it is measured by.

use anchor_lang::prelude::*;

use crate::constants::{HARM_COVER_BPS, SECONDS_PER_HOUR, STAKE_UNIT, STEP};
use crate::errors::{MarketError, OrOverflow};
use crate::state::{MeasureProfile, Params};

/// What governance may change of a model, behind the timelock, by [`STEP`] at most at a time, and once in
/// [`STEP_SECS`](crate::constants::STEP_SECS).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct ModelTerms {
    /// Stake per GPU, base units of the stake token.
    pub min_stake: u64,
    /// Reference price, µUSDC per GPU-hour.
    pub reference_price: u64,
    /// What a GPU of the class reaches, 10⁹ int8 operations a second; 0 while that is not calibrated.
    pub min_operations: u32,
    /// Its memory bandwidth, 10⁶ bytes a second; 0 while that is not calibrated.
    pub min_bandwidth: u32,
    /// Evidence tier below which a node of this model is not awarded.
    pub min_tier: u8,
    pub pad: [u8; 3],
    /// What its GPUs are measured by.
    pub profile: MeasureProfile,
}

/// Whether neither is more than [`STEP`] times the other.
pub(crate) fn within_step(a: u64, b: u64) -> bool {
    a <= b.saturating_mul(STEP) && b <= a.saturating_mul(STEP)
}

fn calibrates(figure: u32, old: u32) -> bool {
    old == 0 || within_step(figure as u64, old as u64)
}

impl ModelTerms {
    /// Refuses values that make no sense, or that no machine could meet.
    pub fn validate(&self) -> Result<()> {
        let sound = self.min_stake > 0 && self.reference_price > 0 && self.min_tier <= 3;
        require!(sound, MarketError::ParameterOutOfRange);
        self.profile.validate()
    }

    /// Whether these terms are one step from `old` at most. What is not calibrated may become anything, once.
    pub fn near(&self, old: &Self) -> Result<bool> {
        Ok(within_step(self.min_stake, old.min_stake)
            && within_step(self.reference_price, old.reference_price)
            && calibrates(self.min_operations, old.min_operations)
            && calibrates(self.min_bandwidth, old.min_bandwidth)
            && self.min_tier <= old.min_tier.saturating_add(1)
            && self.profile.near(&old.profile)?)
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
    /// What a GPU of the class reaches, see `ModelTerms`.
    pub min_operations: u32,
    pub min_bandwidth: u32,
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

    /// Whether its machines are held to figures.
    pub fn calibrated(&self) -> bool {
        self.min_operations > 0 || self.min_bandwidth > 0
    }

    pub fn terms(&self) -> ModelTerms {
        ModelTerms {
            min_stake: self.min_stake,
            reference_price: self.reference_price,
            min_operations: self.min_operations,
            min_bandwidth: self.min_bandwidth,
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
        let ModelTerms {
            min_stake, reference_price, min_operations, min_bandwidth, min_tier, profile, ..
        } = self.pending;
        if profile != self.profile {
            // The first has none before it.
            self.previous_profile = if self.in_force() { self.profile } else { profile };
            self.profile = profile;
        }
        (self.min_stake, self.reference_price) = (min_stake, reference_price);
        (self.min_operations, self.min_bandwidth, self.min_tier) = (min_operations, min_bandwidth, min_tier);
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
