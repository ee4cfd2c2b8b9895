//! Anyone closes an auction that nobody can challenge or award any more.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::AuctionClosed;
use crate::state::Auction;

#[derive(Accounts)]
pub struct AuctionClose {
    #[account(address = auction.order @ MarketError::WrongAccount)]
    pub order: UncheckedAccount,
    #[account(mut, close = rent_payer)]
    pub auction: Account<Auction>,
    #[account(mut, address = auction.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
}

/// It was awarded and the time to challenge it is over, or its order is gone. The account stays until its reveals are
/// over, so that an order placed again at the same address cannot have an auction with the same close.
pub(crate) fn handler(ctx: &mut Context<AuctionClose>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let auction = &ctx.accounts.auction;
    require!(now > auction.reveal_until.max(auction.challenge_until), MarketError::TooEarly);
    require!(
        auction.awarded_at != 0 || !ctx.accounts.order.account().owned_by(&crate::ID),
        MarketError::StillInUse
    );
    emit!(AuctionClosed { order: auction.order });
    Ok(())
}
