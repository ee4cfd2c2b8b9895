//! Anyone expires an order whose time to be awarded is over, see [`Order::open_until`], and releases its credits. An order
//! for several nodes is awarded in full or not at all: leases that it has already are aborted next.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::OrderExpired;
use crate::state::{Credits, Order, ORDER_EXPIRED, ORDER_LAPSED, ORDER_OPEN};

#[derive(Accounts)]
pub struct OrderExpire {
    #[account(mut, constraint = credits.customer == order.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub order: Account<Order>,
    #[account(mut, address = order.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
}

pub(crate) fn handler(ctx: &mut Context<OrderExpire>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let order = &mut accounts.order;
    let waits = match order.status {
        ORDER_OPEN => true,
        ORDER_LAPSED => order.live_leases == 0,
        _ => false,
    };
    require!(waits, MarketError::WrongOrderStatus);
    require!(now > order.open_until(), MarketError::TooEarly);
    let released = order.reserved;
    let address = *order.address();
    order.reserved = 0;
    order.status = ORDER_EXPIRED;
    order.invariant()?;
    accounts.credits.release_of(order.session_slot, order.created_at, released)?;
    if accounts.order.live_leases == 0 {
        accounts.credits.live_orders = accounts.credits.live_orders.checked_sub(1).or_overflow()?;
        accounts.order.close(*accounts.rent_payer.account())?;
    }
    emit!(OrderExpired { order: address, released });
    Ok(())
}
