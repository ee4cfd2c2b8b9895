//! The customer, or one of its session keys, cancels an order that has no lease.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::OrderCancelled;
use crate::state::{Credits, Order, ORDER_LAPSED, ORDER_OPEN};

#[derive(Accounts)]
pub struct OrderCancel {
    pub authority: Signer,
    #[account(mut)]
    pub credits: Account<Credits>,
    #[account(
        mut,
        close = rent_payer,
        constraint = order.customer == credits.customer @ MarketError::WrongAccount
    )]
    pub order: Account<Order>,
    // May be the same wallet as another account here: only its lamports change, so that does no harm.
    #[account(mut, unsafe(dup), address = order.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
}

pub(crate) fn handler(ctx: &mut Context<OrderCancel>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    ctx.accounts.credits.actor(ctx.accounts.authority.address(), now)?;
    let order = &ctx.accounts.order;
    let unused = match order.status {
        ORDER_OPEN => order.nodes_awarded == 0,
        ORDER_LAPSED => order.live_leases == 0,
        _ => false,
    };
    require!(unused, MarketError::WrongOrderStatus);
    require!(order.status != ORDER_OPEN || !order.decided(now), MarketError::TooLate);
    let released = order.reserved;
    let (slot, reserved_at) = (order.session_slot, order.created_at);
    let address = *order.address();
    let credits = &mut ctx.accounts.credits;
    credits.release_of(slot, reserved_at, released)?;
    credits.live_orders = credits.live_orders.checked_sub(1).or_overflow()?;
    emit!(OrderCancelled { order: address, released });
    Ok(())
}
