//! The price of time.

use anchor_lang::prelude::*;

use crate::constants::SECONDS_PER_HOUR;
use crate::errors::OrOverflow;

/// `price × gpus × seconds / 3600`, rounded down. Price in µUSDC per GPU-hour, result in µUSDC.
pub fn cost(price: u64, gpus: u8, seconds: u32) -> Result<u64> {
    let product = (price as u128)
        .checked_mul(gpus as u128)
        .and_then(|product| product.checked_mul(seconds as u128))
        .or_overflow()?;
    let whole = product.checked_div(SECONDS_PER_HOUR as u128).or_overflow()?;
    u64::try_from(whole).ok().or_overflow()
}
