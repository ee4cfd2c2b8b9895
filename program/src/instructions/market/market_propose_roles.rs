//! The authority proposes an authority, a guardian and a treasury; they wait for the timelock. A new proposal replaces a
//! pending one and starts its own wait.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::MarketError;
use crate::events::RolesProposed;
use crate::state::Market;
use crate::token::require_mint;

#[derive(Accounts)]
pub struct MarketProposeRoles {
    pub authority: Signer,
    #[account(mut, constraint = market.authority == *authority.address() @ MarketError::Unauthorised)]
    pub market: Account<Market>,
    /// Token account of the payment mint that is to receive the treasury's share: not where the fees wait, which belong to
    /// others as well.
    #[account(constraint = *treasury.address() != market.fee_vault @ MarketError::WrongAccount)]
    pub treasury: Account<TokenAccount>,
}

/// What does not change is proposed as it is.
pub(crate) fn handler(
    ctx: &mut Context<MarketProposeRoles>,
    authority: Address,
    guardian: Address,
) -> Result<()> {
    require_mint(&ctx.accounts.treasury, &ctx.accounts.market.payment_mint)?;
    let treasury = *ctx.accounts.treasury.address();
    let market = &mut ctx.accounts.market;
    let eta = market.params.eta(Clock::get()?.unix_timestamp, 0)?;
    market.pending_authority = authority;
    market.pending_guardian = guardian;
    market.pending_treasury = treasury;
    market.pending_roles_eta = eta;
    emit!(RolesProposed { authority, guardian, treasury, eta });
    market.invariant()
}
