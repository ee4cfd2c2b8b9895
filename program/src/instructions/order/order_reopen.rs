//! The customer, or one of its session keys, opens an order again of which a node declined its lease or did not start it.
//!
//! The missing nodes are reserved for again at the order's maximum price. Leases that have started go on; those that
//! have not stay awarded, and start once the order is whole again, with a start deadline of its own. A sealed order
//! opens again as an instant one: its bids are known by now. A redundant order of which a lease has started is not opened
//! again: its deadlines stand, and a new node could copy what the others reveal. Nor is one that as many nodes did not serve
//! as it remembers: its job runs nowhere.

use anchor_lang::prelude::*;

use crate::constants::MODE_INSTANT;
use crate::errors::{MarketError, OrOverflow};
use crate::events::OrderReopened;
use crate::state::{Credits, Market, Order, CUSTOMER, ORDER_LAPSED, ORDER_OPEN};

#[derive(Accounts)]
pub struct OrderReopen {
    pub authority: Signer,
    pub market: Account<Market>,
    #[account(mut)]
    pub credits: Account<Credits>,
    #[account(mut, constraint = order.customer == credits.customer @ MarketError::WrongAccount)]
    pub order: Account<Order>,
}

pub(crate) fn handler(ctx: &mut Context<OrderReopen>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    accounts.market.orders_open()?;
    let address = *accounts.order.address();
    let (order, credits) = (&mut accounts.order, &mut accounts.credits);
    let slot = credits.actor(accounts.authority.address(), now)?;
    require!(order.status == ORDER_LAPSED, MarketError::WrongOrderStatus);
    require!(order.redundant == 0 || order.started == 0, MarketError::WrongOutputState);
    require!(order.remembers_more(), MarketError::TooManyDeclined);
    let nodes = order.nodes_missing()?;
    let reserved = order.held_for_missing()?;
    credits.reserve_for(slot, reserved)?;
    if slot != order.session_slot {
        // Two have reserved for it: what comes back can no longer be told apart, so it counts as spent.
        order.session_slot = CUSTOMER;
    }
    let wait = accounts.market.params.award_deadline_secs as i64;
    order.reserved = reserved;
    order.status = ORDER_OPEN;
    order.awarded_at = 0;
    order.outputs_by = 0;
    order.reveal_by = 0;
    order.mode = MODE_INSTANT;
    order.auction_close = 0;
    order.award_deadline = now.checked_add(wait).or_overflow()?;
    emit!(OrderReopened { order: address, reserved, nodes, award_deadline: order.award_deadline });
    order.invariant()
}
