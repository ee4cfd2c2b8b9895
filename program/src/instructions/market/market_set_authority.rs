//! The authority names its successor, who must accept, and the guardian, who need not.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::{AuthorityChanged, AuthorityProposed};
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketSetAuthority {
    pub authority: Signer,
    #[account(mut, constraint = market.authority == *authority.address() @ MarketError::Unauthorised)]
    pub market: Account<Market>,
}

/// A zero `new_authority` takes back a nomination.
pub(crate) fn handler(
    ctx: &mut Context<MarketSetAuthority>,
    new_authority: Address,
    new_guardian: Address,
) -> Result<()> {
    let market = &mut ctx.accounts.market;
    let guardian_changes = market.guardian != new_guardian;
    market.pending_authority = new_authority;
    market.guardian = new_guardian;
    emit!(AuthorityProposed { pending: new_authority });
    if guardian_changes {
        emit!(AuthorityChanged { authority: market.authority, guardian: new_guardian });
    }
    market.invariant()
}
