//! How slashed stake is split, and what a customer's harm is in stake.

use anchor_lang::prelude::*;

use crate::constants::STAKE_UNIT;
use crate::errors::OrOverflow;
use crate::math::fees::bps_of;

/// Where slashed stake goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    pub customer: u64,
    pub finder: u64,
    pub burned: u64,
}

/// The harmed customer first, up to the harm; then the finder, at most its share of the whole; the rest is burned.
pub fn split(amount: u64, harm: u64, finder_bps: u16) -> Result<Split> {
    let customer = amount.min(harm);
    let rest = amount.checked_sub(customer).or_overflow()?;
    let finder = bps_of(amount, finder_bps)?.min(rest);
    let burned = rest.checked_sub(finder).or_overflow()?;
    Ok(Split { customer, finder, burned })
}

/// `µUSDC / stake_price` in base units of the stake token, rounded down. The price is µUSDC per whole stake token.
pub fn harm_in_stake(harm: u64, stake_price: u64) -> Result<u64> {
    let product = (harm as u128).checked_mul(STAKE_UNIT as u128).or_overflow()?;
    let whole = product.checked_div(stake_price as u128).or_overflow()?;
    u64::try_from(whole).ok().or_overflow()
}
