//! The authority proposes parameters; they wait for the timelock, and steps for `STEP_SECS` since the last one too. A
//! new proposal replaces a pending one and starts its own wait.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
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
    require!(params.near(&market.params), MarketError::ParameterOutOfRange);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketProposeParams>, params: Params) -> Result<()> {
    let market = &mut ctx.accounts.market;
    validate(market, &params)?;
    let now = Clock::get()?.unix_timestamp;
    let last = if params.steps_from(&market.params) { market.stepped_at } else { 0 };
    let eta = market.params.eta(now, last)?;
    market.pending_params = params;
    market.pending_eta = eta;
    emit!(ParamsProposed { eta });
    market.invariant()
}
