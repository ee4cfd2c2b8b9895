//! What lies in the market's vaults, by what it is set aside for: swept fees, and parts of slashes that wait for their
//! payout.

use anchor_lang::prelude::*;

use crate::constants::{BPS, BUY_BACK_FIRST_BPS, BUY_BACK_LAST_BPS, DAY, STAKE_UNIT};
use crate::errors::{MarketError, OrOverflow};
use crate::state::Params;

#[account]
pub struct Rewards {
    /// Token account of stake tokens that emission is paid from; anyone may fill it.
    pub emission_vault: Address,
    /// Token account of stake tokens that payouts of slashes wait in.
    pub payout_vault: Address,
    /// µUSDC swept and not yet split.
    pub pending: u64,
    /// µUSDC that keepers have earned by awards and not claimed: Σ `Keeper::earned`.
    pub earned: u64,
    /// µUSDC set aside for the voters of reports and not claimed: Σ `Report::reward_left`.
    pub allocated: u64,
    /// µUSDC that whoever burns stake tokens for it may take.
    pub buy_back: u64,
    /// When the running buy-back began: its price rises from then on.
    pub buy_back_since: i64,
    /// Last period whose report was given a reward: an older one never is again.
    pub last_period: u64,
    /// Day (unix time / 86,400) that `emitted_today` counts for.
    pub emission_day: u64,
    /// Base units of the stake token.
    pub emitted_today: u64,
    pub emitted_total: u64,
    /// Base units of the stake token burned by buy-backs.
    pub bought_back: u64,
    /// Base units of the stake token that the payout vault owes: Σ `Payout::amount`.
    pub payouts: u64,
    pub version: u8,
    pub bump: u8,
    pub emission_vault_bump: u8,
    pub reserved: [u8; 29],
}

impl Rewards {
    /// What the fee vault must hold.
    pub fn held(&self) -> Result<u64> {
        self.pending
            .checked_add(self.earned)
            .and_then(|sum| sum.checked_add(self.allocated))
            .and_then(|sum| sum.checked_add(self.buy_back))
            .or_overflow()
    }

    /// Stake tokens that must be burned for all of the buy-back at `now`, rounded up. What the market offers for one
    /// token rises over a day from half of the governance price to twice of it, so that the first one to whom the trade
    /// is worth it takes it: no oracle, and nobody is trusted.
    pub fn buy_back_cost(&self, params: &Params, now: i64) -> Result<u64> {
        let elapsed = u64::try_from(now.saturating_sub(self.buy_back_since)).unwrap_or(0).min(DAY);
        let rise = BUY_BACK_LAST_BPS.saturating_sub(BUY_BACK_FIRST_BPS);
        let bps = rise
            .checked_mul(elapsed)
            .and_then(|product| product.checked_div(DAY))
            .and_then(|risen| risen.checked_add(BUY_BACK_FIRST_BPS))
            .or_overflow()?;
        let price = (params.stake_price as u128).checked_mul(bps as u128).or_overflow()?;
        let wanted = (self.buy_back as u128)
            .checked_mul(STAKE_UNIT as u128)
            .and_then(|product| product.checked_mul(BPS as u128))
            .or_overflow()?;
        u64::try_from(wanted.div_ceil(price)).ok().or_overflow()
    }

    /// Adds to what waits for a buy-back. The price of what comes new begins anew: all of it has then waited for the mean
    /// of both, so that a grain which was there before makes nothing cheaper.
    pub fn add_to_buy_back(&mut self, amount: u64, now: i64) -> Result<()> {
        let waited = u64::try_from(now.saturating_sub(self.buy_back_since)).unwrap_or(0).min(DAY);
        let waiting = self.buy_back;
        self.buy_back = waiting.checked_add(amount).or_overflow()?;
        let mean = (waited as u128).checked_mul(waiting as u128).or_overflow()?;
        let mean = mean.checked_div(self.buy_back.max(1) as u128).and_then(|mean| i64::try_from(mean).ok());
        self.buy_back_since = now.saturating_sub(mean.or_overflow()?);
        Ok(())
    }

    /// Counts an emission of `wanted` base units and returns what the day's cap leaves of it.
    pub fn emit_within(&mut self, wanted: u64, cap: u64, now: i64) -> Result<u64> {
        let day = u64::try_from(now).ok().and_then(|now| now.checked_div(DAY)).or_overflow()?;
        if day != self.emission_day {
            self.emission_day = day;
            self.emitted_today = 0;
        }
        let amount = wanted.min(cap.saturating_sub(self.emitted_today));
        self.emitted_today = self.emitted_today.checked_add(amount).or_overflow()?;
        self.emitted_total = self.emitted_total.checked_add(amount).or_overflow()?;
        Ok(amount)
    }

    /// `vault` is the token balance of the fee vault. Anyone may send tokens to it, so it may hold more.
    pub fn invariant(&self, vault: u64) -> Result<()> {
        require!(vault >= self.held()?, MarketError::InvariantBroken);
        Ok(())
    }

    /// `vault` is the token balance of the payout vault. Anyone may send tokens to it, so it may hold more.
    pub fn payouts_covered(&self, vault: u64) -> Result<()> {
        require!(vault >= self.payouts, MarketError::InvariantBroken);
        Ok(())
    }
}
