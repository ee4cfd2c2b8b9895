//! Reputation: a pure function of a node's record.

use crate::constants::{BPS, DISPUTE_LOST_BPS, FAILURE_PART, FULL_AGE_DAYS, FULL_AGE_SECS, PRIOR_FEES};
use crate::state::{Node, ScoreRecord};

/// What a node without ratings is worth: four stars.
const UNRATED_BPS: u64 = 7_500;

/// The record that reputation is made of.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub uptime_bps: u16,
    /// µUSDC of fees swept from leases that were served as long as they had to be.
    pub fees_completed: u64,
    /// What the others weigh, see [`failure_weight`].
    pub fees_failed: u64,
    /// Σ stars × µUSDC of fees.
    pub rating_sum: u64,
    /// Σ µUSDC of fees of leases that were rated.
    pub rating_weight: u64,
    /// Whole days that it was up and passed checks.
    pub days: u8,
    /// What lost disputes took off at `dispute_lost_at`.
    pub dispute_bps: u16,
    pub dispute_lost_at: i64,
}

/// What is left at `now` of what lost disputes took off at `since`: it wears off evenly over half a year.
pub fn standing_dispute_bps(bps: u16, since: i64, now: i64) -> u16 {
    let elapsed = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
    let left = FULL_AGE_SECS.saturating_sub(elapsed);
    (bps as u64).saturating_mul(left).div_ceil(FULL_AGE_SECS).min(BPS) as u16
}

/// The same with one dispute more, lost now.
pub fn dispute_bps(bps: u16, since: i64, now: i64) -> u16 {
    standing_dispute_bps(bps, since, now).saturating_add(DISPUTE_LOST_BPS).min(BPS as u16)
}

/// Uptime 50 %, completion 20 %, ratings 20 %, days that it was up 10 %, less what lost disputes take off; basis points, rounded down.
///
/// Completion and ratings weigh fees, which nobody gets back, beside a prior of [`PRIOR_FEES`]: all of it completed, and
/// rated four stars. A new node starts from there, one lease moves it little, and leases that pay nothing not at all.
/// Ratings map one star to 0 and five to 10,000.
pub fn reputation(record: &Record, now: i64) -> u16 {
    let uptime = (record.uptime_bps as u64).min(BPS);
    let (completed, failed) = (record.fees_completed, record.fees_failed);
    let completion =
        completion_bps(completed, failed).unwrap_or_else(|| wide_completion_bps(completed, failed));
    let (sum, weight) = (record.rating_sum, record.rating_weight);
    let ratings = rating_bps(sum, weight).unwrap_or_else(|| wide_rating_bps(sum, weight));
    let days = record.days.min(FULL_AGE_DAYS) as u64;
    let age = days.saturating_mul(BPS).checked_div(FULL_AGE_DAYS as u64).unwrap_or(0);
    let weighted = uptime
        .saturating_mul(50)
        .saturating_add(completion.saturating_mul(20))
        .saturating_add(ratings.saturating_mul(20))
        .saturating_add(age.saturating_mul(10));
    let lost = standing_dispute_bps(record.dispute_bps, record.dispute_lost_at, now);
    ((weighted / 100).min(BPS) as u16).saturating_sub(lost)
}

/// What was completed, the prior included, of all, basis points, rounded down. `None` where 64 bits are too few: a division
/// of 128 costs a hundred times as much.
fn completion_bps(completed: u64, failed: u64) -> Option<u64> {
    let good = completed.checked_add(PRIOR_FEES)?;
    good.checked_mul(BPS)?.checked_div(good.checked_add(failed)?)
}

/// The same of any fees.
#[inline(never)]
fn wide_completion_bps(completed: u64, failed: u64) -> u64 {
    let good = (completed as u128).saturating_add(PRIOR_FEES as u128);
    good.saturating_mul(BPS as u128).checked_div(good.saturating_add(failed as u128)).unwrap_or(0) as u64
}

/// The mean of the stars, the prior's included, basis points, rounded down. `None` where 64 bits are too few.
fn rating_bps(sum: u64, weight: u64) -> Option<u64> {
    let prior = const { PRIOR_FEES.saturating_mul(UNRATED_BPS) };
    let rated = sum.saturating_sub(weight).checked_mul(BPS / 4)?.checked_add(prior)?;
    Some(rated.checked_div(weight.checked_add(PRIOR_FEES)?)?.min(BPS))
}

/// The same of any fees.
#[inline(never)]
fn wide_rating_bps(sum: u64, weight: u64) -> u64 {
    let prior = (PRIOR_FEES as u128).saturating_mul(UNRATED_BPS as u128);
    let rated = (sum.saturating_sub(weight) as u128).saturating_mul(BPS as u128 / 4).saturating_add(prior);
    let bps = rated.checked_div((weight as u128).saturating_add(PRIOR_FEES as u128)).unwrap_or(0);
    bps.min(BPS as u128) as u64
}

/// What a failed lease weighs against completed ones: the fee of the time that it was funded for. Small ones would cost
/// nothing, and one large one everything, without bounds: a tenth of the prior, and all of it.
pub fn failure_weight(fee: u64) -> u64 {
    fee.clamp(PRIOR_FEES / FAILURE_PART, PRIOR_FEES)
}

/// A node's reputation at `now`.
pub fn reputation_bps(node: &Node, now: i64) -> u16 {
    reputation_of(&node.record(now).score, now)
}

/// The reputation that a score record gives at `now`.
pub fn reputation_of(record: &ScoreRecord, now: i64) -> u16 {
    reputation(
        &Record {
            uptime_bps: record.uptime_bps,
            fees_completed: record.fees_completed,
            fees_failed: record.fees_failed,
            rating_sum: record.rating_sum,
            rating_weight: record.rating_weight,
            days: record.days,
            dispute_bps: record.dispute_bps,
            dispute_lost_at: record.dispute_lost_at,
        },
        now,
    )
}

/// Weighs a period's uptime into the running figure: `(63 × old + sample) / 64`, rounded towards the sample, which is
/// the share of the period that the node was up. Rounded down it could never reach 10,000 again.
pub fn next_uptime_bps(old: u16, up_secs: u32, period_secs: u32) -> u16 {
    let sample = (up_secs as u64).saturating_mul(BPS).checked_div(period_secs as u64).unwrap_or(0).min(BPS);
    let up = if sample > old as u64 { 63 } else { 0 };
    ((old as u64).saturating_mul(63).saturating_add(sample).saturating_add(up) / 64).min(BPS) as u16
}
