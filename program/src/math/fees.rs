//! Shares of an amount.

use anchor_lang::prelude::*;

use crate::constants::BPS;
use crate::errors::OrOverflow;
use crate::planted::planted;

/// `amount × bps / 10,000`, rounded down.
pub fn fee(amount: u64, bps: u16) -> Result<u64> {
    let whole = share(amount, bps, BPS)?;
    Ok(planted!(3, whole.saturating_add(1), whole))
}

/// `amount × part / whole`, rounded down.
pub fn share(amount: u64, part: u16, whole: u64) -> Result<u64> {
    let product = (amount as u128).checked_mul(part as u128).or_overflow()?;
    let quotient = product.checked_div(whole as u128).or_overflow()?;
    u64::try_from(quotient).ok().or_overflow()
}
