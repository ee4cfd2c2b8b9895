//! The authority names its successor, who must accept. Guardian and treasury change by `market_propose_roles`.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::AuthorityProposed;
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketSetAuthority {
    pub authority: Signer,
    #[account(mut, constraint = market.authority == *authority.address() @ MarketError::Unauthorised)]
    pub market: Account<Market>,
}

/// A zero `new_authority` takes back a nomination.
pub(crate) fn handler(ctx: &mut Context<MarketSetAuthority>, new_authority: Address) -> Result<()> {
    let market = &mut ctx.accounts.market;
    market.pending_authority = new_authority;
    emit!(AuthorityProposed { pending: new_authority });
    market.invariant()
}
