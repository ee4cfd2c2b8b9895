//! Stops or reopens new orders and new awards; moves of leases need awards. Money can always be paid and withdrawn.

use anchor_lang::prelude::*;

use crate::constants::{PAUSE_AWARDS, PAUSE_ORDERS};
use crate::errors::MarketError;
use crate::events::MarketPaused;
use crate::state::Market;

#[derive(Accounts)]
pub struct MarketPause {
    /// The guardian or the authority.
    pub by: Signer,
    #[account(
        mut,
        constraint = (market.guardian == *by.address() || market.authority == *by.address())
            @ MarketError::Unauthorised
    )]
    pub market: Account<Market>,
}

fn validate(paused: u8) -> Result<()> {
    require!(paused & !(PAUSE_ORDERS | PAUSE_AWARDS) == 0, MarketError::ParameterOutOfRange);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<MarketPause>, paused: u8) -> Result<()> {
    validate(paused)?;
    let by = *ctx.accounts.by.address();
    let market = &mut ctx.accounts.market;
    market.paused = paused;
    emit!(MarketPaused { by, paused });
    market.invariant()
}
