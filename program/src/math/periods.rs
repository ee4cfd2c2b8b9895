//! Report periods: period p covers `[p × length, (p + 1) × length)` of unix time.

use anchor_lang::prelude::*;

use crate::errors::OrOverflow;

/// The period that contains `now`.
pub fn period_of(now: i64, period_secs: u32) -> Result<u64> {
    u64::try_from(now).ok().and_then(|now| now.checked_div(period_secs as u64)).or_overflow()
}

/// The first second after period `period`.
pub fn period_end(period: u64, period_secs: u32) -> Result<i64> {
    period
        .checked_add(1)
        .and_then(|next| next.checked_mul(period_secs as u64))
        .and_then(|end| i64::try_from(end).ok())
        .or_overflow()
}
