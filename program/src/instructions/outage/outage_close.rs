//! Anyone closes an outage that counts no more. Its rent goes back.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::OutageClosed;
use crate::state::Outage;

#[derive(Accounts)]
pub struct OutageClose {
    #[account(mut, close = rent_payer)]
    pub outage: Account<Outage>,
    #[account(
        mut,
        constraint = *rent_payer.address() == outage.rent_payer @ MarketError::WrongAccount
    )]
    pub rent_payer: UncheckedAccount,
}

pub(crate) fn handler(ctx: &mut Context<OutageClose>) -> Result<()> {
    let outage = &ctx.accounts.outage;
    require!(outage.over(Clock::get()?.unix_timestamp)?, MarketError::TooEarly);
    emit!(OutageClosed { node: outage.node });
    Ok(())
}
