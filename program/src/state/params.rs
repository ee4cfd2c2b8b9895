//! The market's parameters: what governance may change, behind the timelock.

use anchor_lang::prelude::*;

use crate::constants::{
    APPEAL_SECS_MIN, BPS, BUY_BACK_LAST_BPS, CHALLENGE_SECS_MIN, EMISSION_BPS_MAX, FEE_BPS_MAX, FEE_BPS_MIN,
    FINDER_BPS_MAX, MAX_WAIT_SECS, QUORUM_BPS_MAX, QUORUM_BPS_MIN, SLOW_PERIODS, SLOW_PERIODS_SIMULATED,
    STEP_SECS, TIMELOCK_SECS_MIN,
};
use crate::errors::{MarketError, OrOverflow};
use crate::state::gpu_model::within_step;

/// Times are seconds, shares are basis points, bonds are base units of the stake token.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct Params {
    /// Smallest bond of a keeper.
    pub min_bond: u64,
    /// The most bond that counts as voting weight, so that no keeper outvotes the others with money alone.
    pub weight_cap: u64,
    /// What one whole stake token is worth, in µUSDC: turns a customer's harm into stake.
    pub stake_price: u64,
    /// The most that emission pays in a day, base units of the stake token.
    pub emission_cap: u64,
    /// What opening a dispute sets aside, and loses when keepers reject it, µUSDC.
    pub dispute_deposit: u64,
    /// Length of a report period. Fixed when the market is created.
    pub period_secs: u32,
    /// Between a report's finality and the slash: time to appeal.
    pub appeal_secs: u32,
    /// Between an award and its finality: time to show a better ask.
    pub challenge_secs: u32,
    pub unstake_cooldown_secs: u32,
    /// Before a new bond counts.
    pub keeper_activation_secs: u32,
    pub keeper_exit_secs: u32,
    /// From an order's creation to its last award.
    pub award_deadline_secs: u32,
    /// From an order's last award to each lease's start.
    pub start_deadline_secs: u32,
    /// Downtime in one report above which a lease has failed.
    pub migration_grace_secs: u32,
    /// Notice that a provider gives before it ends a lease.
    pub notice_secs: u32,
    /// Between the proposal of a parameter change and its effect.
    pub timelock_secs: u32,
    /// After a lease's end, time for its customer to rate before anyone may close it.
    pub rating_secs: u32,
    /// How long a report stays after its finality, for leaves not yet applied.
    pub report_retention_secs: u32,
    /// Periods after a lease's end in which its last claims may still be settled.
    pub settle_deadline_periods: u16,
    /// Protocol fee on what a customer pays.
    pub fee_bps: u16,
    /// How swept fees are split; the three add up to 10,000.
    pub burn_bps: u16,
    pub keeper_bps: u16,
    pub treasury_bps: u16,
    /// Of the fee, the awarding keeper's own part; it is part of the keepers' share.
    pub award_bps: u16,
    /// Emission of stake to providers, of the fees that their customers paid; 0 switches it off.
    pub emission_bps: u16,
    /// A report is final with at least this share of the bonded weight.
    pub quorum_bps: u16,
    /// The finder's share of a slash that has one.
    pub finder_bps: u16,
    /// Slashes, as shares of the node's required stake ...
    pub slash_fraud_bps: u16,
    pub slash_bad_work_bps: u16,
    pub slash_work_failed_bps: u16,
    pub slash_offline_bps: u16,
    pub slash_guarantee_bps: u16,
    /// ... and of the keeper's bond.
    pub slash_unjust_award_bps: u16,
    pub slash_equivocation_bps: u16,
    /// 1 where simulated GPUs may register (local networks).
    pub allow_simulated: u8,
    pub pad: [u8; 3],
}

impl Params {
    fn slashes(&self) -> [u64; 7] {
        [
            self.slash_fraud_bps,
            self.slash_bad_work_bps,
            self.slash_work_failed_bps,
            self.slash_offline_bps,
            self.slash_guarantee_bps,
            self.slash_unjust_award_bps,
            self.slash_equivocation_bps,
        ]
        .map(u64::from)
    }

    /// What moves in steps: what stake, bonds and votes weigh, what emission may pay, and what slashes take.
    fn steps(&self) -> impl Iterator<Item = u64> {
        let amounts = [self.min_bond, self.weight_cap, self.stake_price, self.emission_cap];
        amounts.into_iter().chain(self.slashes())
    }

    /// Whether these are a step from `old`.
    pub fn steps_from(&self, old: &Self) -> bool {
        self.steps().ne(old.steps())
    }

    /// Whether these are one step from `old` at most. What is 0 stays 0.
    pub fn near(&self, old: &Self) -> bool {
        self.steps().zip(old.steps()).all(|(new, old)| within_step(new, old))
    }

    /// When a proposal of `now` may be applied: once the timelock has passed, and [`STEP_SECS`] since the last step. `last`
    /// is 0 where there was none, or where this is none.
    pub fn eta(&self, now: i64, last: i64) -> Result<i64> {
        let wait = if self.allow_simulated == 0 { STEP_SECS } else { 0 };
        let step = last.checked_add(wait as i64).or_overflow()?;
        Ok(now.checked_add(self.timelock_secs as i64).or_overflow()?.max(step))
    }

    /// Refuses values under which money or time would stop making sense.
    pub fn validate(&self) -> Result<()> {
        let shares = (self.burn_bps as u64)
            .checked_add(self.keeper_bps as u64)
            .and_then(|sum| sum.checked_add(self.treasury_bps as u64));
        let positive = [
            self.period_secs,
            self.award_deadline_secs,
            self.start_deadline_secs,
            self.report_retention_secs,
        ];
        // Somebody's money or stake waits for each of them.
        let waits = [
            self.period_secs,
            self.appeal_secs,
            self.challenge_secs,
            self.unstake_cooldown_secs,
            self.keeper_activation_secs,
            self.keeper_exit_secs,
            self.award_deadline_secs,
            self.start_deadline_secs,
            self.migration_grace_secs,
            self.notice_secs,
            self.timelock_secs,
            self.rating_secs,
            self.report_retention_secs,
        ];
        let valid = self.min_bond > 0
            && waits.iter().all(|seconds| *seconds <= MAX_WAIT_SECS)
            && self.weight_cap >= self.min_bond
            && self.stake_price > 0
            && positive.iter().all(|seconds| *seconds > 0)
            && self.settle_deadline_periods > 0
            // Also with one period more, which is what closing a node waits for.
            && self.settle_deadline_secs().is_ok_and(|wait| wait <= MAX_WAIT_SECS)
            && self.fee_bps >= FEE_BPS_MIN
            && self.fee_bps <= FEE_BPS_MAX
            && shares == Some(BPS)
            && self.award_bps <= self.keeper_bps
            // Something is always left to share among the others.
            && (self.award_bps as u64) < BPS
            && self.emission_bps <= EMISSION_BPS_MAX
            && self.washing_costs()
            && (QUORUM_BPS_MIN..=QUORUM_BPS_MAX).contains(&self.quorum_bps)
            && self.finder_bps <= FINDER_BPS_MAX
            && self.slashes().iter().all(|bps| *bps <= BPS)
            // A leaf must stay provable for as long as its fault can be appealed and applied.
            && self.report_retention_secs >= self.appeal_secs
            && self.stake_outlasts_reports()
            // A bond cannot leave while an award of its keeper can be contested.
            && self.keeper_exit_secs >= self.challenge_secs
            && self.allow_simulated <= 1
            && (self.allow_simulated == 1 || self.leaves_time())
            && self.pad == [0; 3];
        require!(valid, MarketError::ParameterOutOfRange);
        Ok(())
    }

    /// Whether a coalition that pays fees to itself gets less back than it pays, with up to a third of the voting
    /// weight: the emission at twice the governance price, which is what a buy-back offers at most, all awards, and its
    /// part of what voters share.
    fn washing_costs(&self) -> bool {
        let emission = (self.emission_bps as u64).saturating_mul(BUY_BACK_LAST_BPS) / BPS;
        let votes = (self.keeper_bps as u64).saturating_sub(self.award_bps as u64).div_ceil(3);
        emission.saturating_add(self.award_bps as u64).saturating_add(votes) < BPS
    }

    /// Whether stake stays for as long as a report of the running period can be applied, and the appeal after that.
    fn stake_outlasts_reports(&self) -> bool {
        let last = self
            .period_secs
            .checked_add(self.report_retention_secs)
            .and_then(|applied| applied.checked_add(self.appeal_secs));
        last.is_some_and(|last| self.unstake_cooldown_secs >= last)
    }

    /// For how long a keeper answers for what its former signer has signed: as long as its bond would take to leave, and
    /// until a report of the running period is applied and the appeal after that is over.
    pub fn signer_secs(&self) -> u32 {
        let reports =
            self.period_secs.saturating_add(self.report_retention_secs).saturating_add(self.appeal_secs);
        self.keeper_exit_secs.max(reports)
    }

    /// Whether people have time to see what comes and to answer.
    fn leaves_time(&self) -> bool {
        self.timelock_secs >= TIMELOCK_SECS_MIN
            && self.appeal_secs >= APPEAL_SECS_MIN
            && self.challenge_secs >= CHALLENGE_SECS_MIN
    }

    /// In how many measured periods in a row a machine that is slow reaches too little.
    pub fn slow_periods(&self) -> u8 {
        if self.allow_simulated == 0 {
            SLOW_PERIODS
        } else {
            SLOW_PERIODS_SIMULATED
        }
    }

    /// Seconds after a lease's end in which its last claims may still be settled.
    pub fn settle_deadline_secs(&self) -> Result<u32> {
        self.period_secs.checked_mul(self.settle_deadline_periods as u32).or_overflow()
    }
}
