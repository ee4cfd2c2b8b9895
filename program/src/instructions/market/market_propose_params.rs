//! The authority proposes parameters; they wait for the timelock. A new proposal replaces a pending one and starts its
//! own wait.

use anchor_lang::prelude::*;

use crate::constants::MODEL_STEP;
use crate::errors::{MarketError, OrOverflow};
use crate::events::ParamsProposed;
use crate::state::{Market, Params};

#[derive(Accounts)]
pub struct MarketProposeParams {
    pub authority: Signer,
    #[account(mut, constraint = market.authority == *authority.address() @ MarketError::Unauthorised)]
    pub market: Account<Market>,
}

fn validate(market: &Market, params: &Params) -> Result<()> {
    params.validate()?;
    require!(params.period_secs == market.params.period_secs, MarketError::PeriodIsFixed);
    // A market of real machines stays one: its least times never fall away.
    require!(params.allow_simulated <= market.params.allow_simulated, MarketError::ParameterOutOfRange);
    // What is owed in stake follows the price: it moves in steps that everyone can see coming.
    let (old, new) = (market.params.stake_price, params.stake_price);
    let near = new <= old.saturating_mul(MODEL_STEP) && old <= new.saturating_mul(MODEL_STEP);
    require!(near, MarketError::ParameterOutOfRange);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketProposeParams>, params: Params) -> Result<()> {
    let market = &mut ctx.accounts.market;
    validate(market, &params)?;
    let now = Clock::get()?.unix_timestamp;
    let eta = now.checked_add(market.params.timelock_secs as i64).or_overflow()?;
    market.pending_params = params;
    market.pending_eta = eta;
    emit!(ParamsProposed { eta });
    market.invariant()
}
