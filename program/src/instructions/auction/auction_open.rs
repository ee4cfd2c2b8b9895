//! The customer, or one of its session keys, opens the auction of a sealed order: in one transaction with the order.

use anchor_lang::prelude::*;

use crate::constants::{
    AUCTION_SECS_MAX, AUCTION_SECS_MIN, MODE_SEALED, REVEAL_SECS_MAX, REVEAL_SECS_MIN, VERSION,
};
use crate::errors::{MarketError, OrOverflow};
use crate::events::AuctionOpened;
use crate::seeds;
use crate::state::{Auction, Credits, Market, Order, ORDER_OPEN};

#[derive(Accounts)]
pub struct AuctionOpen {
    /// Pays the auction's rent and gets it back.
    #[account(mut)]
    pub authority: Signer,
    pub market: Account<Market>,
    pub credits: Account<Credits>,
    #[account(mut, constraint = order.customer == credits.customer @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(
        init,
        payer = authority,
        seeds = [seeds::AUCTION, order.address().as_ref()],
        bump
    )]
    pub auction: Account<Auction>,
    pub system_program: Program<System>,
}

fn validate(accounts: &AuctionOpen, auction_secs: u32, reveal_secs: u32, now: i64) -> Result<()> {
    accounts.market.orders_open()?;
    accounts.credits.actor(accounts.authority.address(), now)?;
    let order = &accounts.order;
    require!(order.mode == MODE_SEALED, MarketError::WrongOrderMode);
    require!(order.status == ORDER_OPEN, MarketError::WrongOrderStatus);
    require!(now <= order.award_deadline, MarketError::TooLate);
    let sound = (AUCTION_SECS_MIN..=AUCTION_SECS_MAX).contains(&auction_secs)
        && (REVEAL_SECS_MIN..=REVEAL_SECS_MAX).contains(&reveal_secs);
    require!(sound, MarketError::InvalidDuration);
    Ok(())
}

/// Commitments count for `auction_secs`, then reveals for `reveal_secs`; then the award deadline runs.
pub(crate) fn handler(ctx: &mut Context<AuctionOpen>, auction_secs: u32, reveal_secs: u32) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, auction_secs, reveal_secs, now)?;
    let bump = ctx.bumps.auction;
    let accounts = &mut ctx.accounts;
    let close_at = now.checked_add(auction_secs as i64).or_overflow()?;
    let reveal_until = close_at.checked_add(reveal_secs as i64).or_overflow()?;
    let wait = accounts.market.params.award_deadline_secs as i64;
    let order = &mut accounts.order;
    order.auction_close = close_at;
    order.award_deadline = reveal_until.checked_add(wait).or_overflow()?;
    let auction = &mut accounts.auction;
    auction.order = *order.address();
    auction.rent_payer = *accounts.authority.address();
    auction.close_at = close_at;
    auction.reveal_until = reveal_until;
    auction.version = VERSION;
    auction.bump = bump;
    emit!(AuctionOpened {
        order: auction.order,
        close_at,
        reveal_until,
        award_deadline: order.award_deadline
    });
    order.invariant()?;
    auction.invariant()
}
