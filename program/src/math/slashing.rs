//! How slashed stake is split, and what a customer's harm is in stake.

use anchor_lang::prelude::*;

use crate::constants::STAKE_UNIT;
use crate::errors::OrOverflow;
use crate::math::fees::bps_of;

/// Where slashed stake goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    pub burned: u64,
    /// Who proved a keeper's misdeed, or the claimant of an upheld dispute.
    pub finder: u64,
    /// For those that were harmed; what they do not claim is burned.
    pub pool: u64,
}

/// At least half is burned, rounded up, so that no group of wallets gains by being slashed. Of the other half the
/// finder gets its share of the whole, and the victims the rest.
pub fn split(amount: u64, finder_bps: u16) -> Result<Split> {
    let rest = amount / 2;
    let finder = bps_of(amount, finder_bps)?.min(rest);
    Ok(Split {
        burned: amount.checked_sub(rest).or_overflow()?,
        finder,
        pool: rest.checked_sub(finder).or_overflow()?,
    })
}

impl Split {
    /// The same where nobody is the finder: its part is burned.
    pub fn without_finder(self) -> Result<Self> {
        Ok(Self { burned: self.burned.checked_add(self.finder).or_overflow()?, finder: 0, ..self })
    }

    /// The same where the victims claim at most `harm`: the rest of their pool is burned.
    pub fn claimed(self, harm: u64) -> Result<Self> {
        let pool = self.pool.min(harm);
        let unclaimed = self.pool.checked_sub(pool).or_overflow()?;
        Ok(Self { burned: self.burned.checked_add(unclaimed).or_overflow()?, pool, ..self })
    }

    /// What is paid out later.
    pub fn held(&self) -> Result<u64> {
        self.finder.checked_add(self.pool).or_overflow()
    }
}

/// `µUSDC / stake_price` in base units of the stake token, rounded down. The price is µUSDC per whole stake token.
pub fn harm_in_stake(harm: u64, stake_price: u64) -> Result<u64> {
    let product = (harm as u128).checked_mul(STAKE_UNIT as u128).or_overflow()?;
    let whole = product.checked_div(stake_price as u128).or_overflow()?;
    u64::try_from(whole).ok().or_overflow()
}
