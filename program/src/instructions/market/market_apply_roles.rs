//! Anyone puts a proposed guardian and treasury in place once their timelock has passed.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::RolesApplied;
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketApplyRoles {
    #[account(mut)]
    pub market: Account<Market>,
}

fn validate(market: &Market, now: i64) -> Result<()> {
    require!(market.pending_roles_eta != 0, MarketError::NothingPending);
    require!(now >= market.pending_roles_eta, MarketError::TimelockRunning);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketApplyRoles>) -> Result<()> {
    let market = &mut ctx.accounts.market;
    validate(market, Clock::get()?.unix_timestamp)?;
    market.guardian = market.pending_guardian;
    market.treasury = market.pending_treasury;
    market.pending_guardian = Address::default();
    market.pending_treasury = Address::default();
    market.pending_roles_eta = 0;
    emit!(RolesApplied { guardian: market.guardian, treasury: market.treasury });
    market.invariant()
}
