//! Shares of an amount.

use anchor_lang::prelude::*;

use crate::constants::BPS;
use crate::errors::OrOverflow;

/// `amount × bps / 10,000`, rounded down.
pub fn fee(amount: u64, bps: u16) -> Result<u64> {
    let product = (amount as u128).checked_mul(bps as u128).or_overflow()?;
    let whole = product.checked_div(BPS as u128).or_overflow()?;
    u64::try_from(whole).ok().or_overflow()
}
