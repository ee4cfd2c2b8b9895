//! Shares of an amount.

use anchor_lang::prelude::*;

use crate::constants::BPS;
use crate::errors::OrOverflow;

/// `amount × bps / 10,000`, rounded down.
pub fn bps_of(amount: u64, bps: u16) -> Result<u64> {
    share(amount, bps, BPS)
}

/// `amount × part / whole`, rounded down.
pub fn share(amount: u64, part: u16, whole: u64) -> Result<u64> {
    part_of(amount, part as u64, whole)
}

/// The same of larger numbers. A product that fits 64 bits needs no division of 128, which costs a hundred times as much.
pub fn part_of(amount: u64, part: u64, whole: u64) -> Result<u64> {
    match amount.checked_mul(part) {
        Some(product) => product.checked_div(whole).or_overflow(),
        None => wide_part_of(amount, part, whole),
    }
}

#[inline(never)]
fn wide_part_of(amount: u64, part: u64, whole: u64) -> Result<u64> {
    let product = (amount as u128).checked_mul(part as u128).or_overflow()?;
    let quotient = product.checked_div(whole as u128).or_overflow()?;
    u64::try_from(quotient).ok().or_overflow()
}

/// Where swept fees go.
pub struct FeeShares {
    pub treasury: u64,
    /// For whoever burns stake tokens.
    pub buy_back: u64,
    /// For those who voted for a final report: the rest.
    pub voters: u64,
}

/// The awarding keepers' part has left `pending` already: the others share what is left in their proportions.
pub fn fee_shares(pending: u64, award_bps: u16, treasury_bps: u16, burn_bps: u16) -> Result<FeeShares> {
    let whole = BPS.checked_sub(award_bps as u64).or_overflow()?;
    let treasury = share(pending, treasury_bps, whole)?;
    let buy_back = share(pending, burn_bps, whole)?;
    let voters = pending.checked_sub(treasury).and_then(|rest| rest.checked_sub(buy_back)).or_overflow()?;
    Ok(FeeShares { treasury, buy_back, voters })
}
