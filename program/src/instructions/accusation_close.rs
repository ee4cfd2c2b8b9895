//! Who accused takes an accusation back that it cannot or need not prove any more, and its rent.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::AccusationClosed;
use crate::state::Accusation;

#[derive(Accounts)]
pub struct AccusationClose {
    #[account(mut, address = accusation.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    #[account(mut, close = finder)]
    pub accusation: Account<Accusation>,
}

pub fn handler(ctx: &mut Context<AccusationClose>) -> Result<()> {
    emit!(AccusationClosed { accusation: *ctx.accounts.accusation.address() });
    Ok(())
}
