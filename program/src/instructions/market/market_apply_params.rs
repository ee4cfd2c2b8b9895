//! Anyone puts proposed parameters into force once their timelock has passed. Leases keep the terms they have.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::ParamsApplied;
use crate::state::{Market, Params};

#[derive(Accounts)]
pub struct MarketApplyParams {
    #[account(mut)]
    pub market: Account<Market>,
}

fn validate(market: &Market, now: i64) -> Result<()> {
    require!(market.pending_eta != 0, MarketError::NothingPending);
    require!(now >= market.pending_eta, MarketError::TimelockRunning);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketApplyParams>) -> Result<()> {
    let market = &mut ctx.accounts.market;
    let now = Clock::get()?.unix_timestamp;
    validate(market, now)?;
    if market.pending_params.steps_from(&market.params) {
        market.stepped_at = now;
    }
    market.params = market.pending_params;
    market.pending_params = <Params as bytemuck::Zeroable>::zeroed();
    market.pending_eta = 0;
    emit!(ParamsApplied { at: now });
    market.invariant()
}
