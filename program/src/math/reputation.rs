//! Reputation: a pure function of a node's record.

use crate::constants::{BPS, DISPUTE_LOST_BPS, FULL_AGE_SECS};
use crate::state::{Node, ScoreRecord};

/// What a node without ratings is worth: four stars.
const UNRATED_BPS: u64 = 7_500;

/// The record that reputation is made of.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub uptime_bps: u16,
    pub jobs_completed: u32,
    pub jobs_failed: u32,
    /// Σ stars × weight.
    pub rating_sum: u64,
    pub rating_weight: u64,
    pub registered_at: i64,
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

/// Uptime 50 %, completion 20 %, ratings 20 %, age 10 %, less what lost disputes take off; basis points, rounded down.
///
/// Completion counts one job more than there was, completed, so that a new node starts whole and one failure does not
/// sink it. Ratings map one star to 0 and five to 10,000.
pub fn reputation(record: &Record, now: i64) -> u16 {
    let uptime = (record.uptime_bps as u64).min(BPS);
    let completed = (record.jobs_completed as u64).saturating_add(1);
    let jobs = completed.saturating_add(record.jobs_failed as u64);
    let completion = completed.saturating_mul(BPS).checked_div(jobs).unwrap_or(0);
    let stars =
        (record.rating_sum as u128).saturating_sub(record.rating_weight as u128).saturating_mul(BPS as u128);
    let ratings = stars
        .checked_div((record.rating_weight as u128).saturating_mul(4))
        .map_or(UNRATED_BPS, |bps| bps.min(BPS as u128) as u64);
    let age_secs = now.saturating_sub(record.registered_at).max(0) as u64;
    let age = age_secs.min(FULL_AGE_SECS).saturating_mul(BPS).checked_div(FULL_AGE_SECS).unwrap_or(0);
    let weighted = uptime
        .saturating_mul(50)
        .saturating_add(completion.saturating_mul(20))
        .saturating_add(ratings.saturating_mul(20))
        .saturating_add(age.saturating_mul(10));
    let lost = standing_dispute_bps(record.dispute_bps, record.dispute_lost_at, now);
    ((weighted / 100).min(BPS) as u16).saturating_sub(lost)
}

/// A node's reputation at `now`.
pub fn reputation_bps(node: &Node, now: i64) -> u16 {
    reputation_of(&node.record(now).score, node.registered_at, now)
}

/// The reputation that a score record gives at `now`.
pub fn reputation_of(record: &ScoreRecord, registered_at: i64, now: i64) -> u16 {
    reputation(
        &Record {
            uptime_bps: record.uptime_bps,
            jobs_completed: record.jobs_completed,
            jobs_failed: record.jobs_failed,
            rating_sum: record.rating_sum,
            rating_weight: record.rating_weight,
            registered_at,
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
