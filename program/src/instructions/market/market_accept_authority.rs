//! The nominated authority takes over.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::AuthorityChanged;
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketAcceptAuthority {
    pub pending: Signer,
    #[account(mut)]
    pub market: Account<Market>,
}

fn validate(accounts: &MarketAcceptAuthority) -> Result<()> {
    let pending = accounts.market.pending_authority;
    require!(pending != Address::default(), MarketError::NothingPending);
    require!(pending == *accounts.pending.address(), MarketError::Unauthorised);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketAcceptAuthority>) -> Result<()> {
    validate(&ctx.accounts)?;
    let market = &mut ctx.accounts.market;
    market.authority = market.pending_authority;
    market.pending_authority = Address::default();
    emit!(AuthorityChanged { authority: market.authority, guardian: market.guardian });
    market.invariant()
}
