//! Anyone ends a lease that did not start in time: the customer gets everything back.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::{LeaseAborted, OrderClosed};
use crate::state::{
    Credits, Lease, Market, Node, Order, Provider, LEASE_AWARDED, ORDER_AWARDED, ORDER_EXPIRED, ORDER_LAPSED,
};

#[derive(Accounts)]
pub struct LeaseAbort {
    pub market: Account<Market>,
    #[account(mut, address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    // May be the same wallet as another account here: only its lamports change, so that does no harm.
    #[account(mut, unsafe(dup), address = order.rent_payer @ MarketError::WrongAccount)]
    pub order_rent_payer: UncheckedAccount,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, close = rent_payer)]
    pub lease: Account<Lease>,
    #[account(mut, unsafe(dup), address = lease.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
}

/// Whether the node should have started. An expired order was never awarded in full: its nodes are not.
fn validate(accounts: &LeaseAbort, now: i64) -> Result<bool> {
    require!(accounts.lease.status == LEASE_AWARDED, MarketError::WrongLeaseStatus);
    let order = &accounts.order;
    let since = if accounts.lease.continues == 1 {
        accounts.lease.awarded_at
    } else if order.status == ORDER_EXPIRED {
        return Ok(false);
    } else {
        order.awarded_at
    };
    require!(since != 0, MarketError::WrongOrderStatus);
    require!(now > order.start_by(since)?, MarketError::TooEarly);
    Ok(true)
}

pub(crate) fn handler(ctx: &mut Context<LeaseAbort>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let blamed = validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let (order, node) = (&mut accounts.order, &mut accounts.node);
    let released = accounts.lease.reserved;
    let continues = accounts.lease.continues == 1;
    if continues {
        accounts.credits.release(released)?;
    } else {
        accounts.credits.release_of(order.session_slot, order.created_at, released)?;
    }
    accounts.credits.live_leases = accounts.credits.live_leases.checked_sub(1).or_overflow()?;
    node.free_gpus_of(accounts.lease.gpu_mask, now)?;
    node.forget_lease(&accounts.lease)?;
    accounts.provider.live_leases = accounts.provider.live_leases.checked_sub(1).or_overflow()?;
    order.live_leases = order.live_leases.checked_sub(1).or_overflow()?;
    // Nobody has to start at a price that fell since.
    let failed = blamed && accounts.lease.repriced == 0;
    if failed {
        let record = node.record(now);
        node.failed(accounts.lease.fee_funded()?)?;
        node.keep_record(&record, now);
    }
    if continues {
        // The order had its node: it is not open again for another one.
        order.migrations = order.migrations.checked_sub(1).or_overflow()?;
    } else {
        order.nodes_awarded = order.nodes_awarded.checked_sub(1).or_overflow()?;
    }
    if blamed && !continues {
        order.status = ORDER_LAPSED;
        // Time for the customer to reserve again; then anyone may close the order.
        let wait = accounts.market.params.award_deadline_secs as i64;
        order.award_deadline = now.checked_add(wait).or_overflow()?;
    }
    node.invariant()?;
    order.invariant()?;
    emit!(LeaseAborted { lease: *accounts.lease.address(), released, node_failed: u8::from(failed) });
    let order = &accounts.order;
    if order.live_leases == 0 && matches!(order.status, ORDER_AWARDED | ORDER_EXPIRED) {
        accounts.credits.live_orders = accounts.credits.live_orders.checked_sub(1).or_overflow()?;
        emit!(OrderClosed { order: *accounts.order.address() });
        accounts.order.close(*accounts.order_rent_payer.account())?;
    }
    Ok(())
}
