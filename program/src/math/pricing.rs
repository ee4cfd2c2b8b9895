//! The price of time.

use anchor_lang::prelude::*;

use crate::constants::SECONDS_PER_HOUR;
use crate::errors::OrOverflow;
use crate::math::fees::part_of;

/// `price × gpus × seconds / 3600`, rounded down. Price in µUSDC per GPU-hour, result in µUSDC.
pub fn cost(price: u64, gpus: u8, seconds: u32) -> Result<u64> {
    part_of(price, (gpus as u64).checked_mul(seconds as u64).or_overflow()?, SECONDS_PER_HOUR)
}
