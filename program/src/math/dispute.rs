//! What a dispute may cost: the customer's deposit, and the stake of the node that it is about.

use anchor_lang::prelude::*;

use crate::constants::{BPS, CAPITAL_BPS, DEPOSIT_BPS, STAKE_UNIT, YEAR};
use crate::errors::OrOverflow;
use crate::math::fees::bps_of;
use crate::math::slashing::harm_in_stake;

/// Who gets what of a deposit; the rest goes back to the customer. µUSDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepositShares {
    pub provider: u64,
    pub buy_back: u64,
}

impl DepositShares {
    /// Of a dispute that keepers rejected: half and half.
    pub fn rejected(deposit: u64) -> Self {
        let provider = deposit / 2;
        Self { provider, buy_back: deposit.saturating_sub(provider) }
    }

    /// Of one that nobody decided in time: a quarter is what its stake cost the provider meanwhile.
    pub fn undecided(deposit: u64) -> Self {
        Self { provider: deposit / 4, buy_back: 0 }
    }
}

/// The deposit: a tenth of what was settled, at most `cap`, and at least four times what the frozen stake costs its
/// owner in the time of the vote, so that the quarter of an undecided dispute pays for it. µUSDC; rounded up.
pub fn deposit(settled: u64, cap: u64, frozen: u64, stake_price: u64, secs: u32) -> Result<u64> {
    let tenth = bps_of(settled, DEPOSIT_BPS)?.min(cap);
    let value = (frozen as u128).checked_mul(stake_price as u128).or_overflow()?.div_ceil(STAKE_UNIT as u128);
    let cost = value
        .checked_mul(4)
        .and_then(|value| value.checked_mul(CAPITAL_BPS as u128))
        .and_then(|value| value.checked_mul(secs as u128))
        .or_overflow()?;
    let year = (BPS as u128).checked_mul(YEAR as u128).or_overflow()?;
    let least = u64::try_from(cost.div_ceil(year)).ok().or_overflow()?;
    Ok(tenth.max(least))
}

/// The stake that bad output may cost: the lease's share of what its node must hold, by GPUs, and at least two and a
/// half times what was settled, so that the customer can be made whole from the half that is not burned. Never more
/// than `own`, the node's own stake.
#[allow(clippy::too_many_arguments)]
pub fn possible_slash(
    required: u64,
    slash_bps: u16,
    gpus: u8,
    node_gpus: u8,
    settled: u64,
    stake_price: u64,
    own: u64,
) -> Result<u64> {
    let whole = bps_of(required, slash_bps)? as u128;
    let part = whole
        .checked_mul(gpus as u128)
        .and_then(|product| product.checked_div(node_gpus as u128))
        .and_then(|part| u64::try_from(part).ok())
        .or_overflow()?;
    let harm = harm_in_stake(settled, stake_price)?;
    let least = harm.saturating_mul(5) / 2;
    Ok(part.max(least).min(own))
}
