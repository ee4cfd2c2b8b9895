//! Proposed roles are put in place once their timelock has passed: by the next authority where there is one, so that it
//! is somebody's who can sign; else by anyone.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::RolesApplied;
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketApplyRoles {
    pub by: Signer,
    #[account(mut)]
    pub market: Account<Market>,
}

fn validate(market: &Market, by: &Address, now: i64) -> Result<()> {
    require!(market.pending_roles_eta != 0, MarketError::NothingPending);
    require!(now >= market.pending_roles_eta, MarketError::TimelockRunning);
    let stays = market.pending_authority == market.authority;
    require!(stays || market.pending_authority == *by, MarketError::Unauthorised);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketApplyRoles>) -> Result<()> {
    let by = *ctx.accounts.by.address();
    let market = &mut ctx.accounts.market;
    validate(market, &by, Clock::get()?.unix_timestamp)?;
    market.authority = market.pending_authority;
    market.guardian = market.pending_guardian;
    market.treasury = market.pending_treasury;
    market.pending_authority = Address::default();
    market.pending_guardian = Address::default();
    market.pending_treasury = Address::default();
    market.pending_roles_eta = 0;
    emit!(RolesApplied { authority: market.authority, guardian: market.guardian, treasury: market.treasury });
    market.invariant()
}
