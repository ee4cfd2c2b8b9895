//! Anyone ends a lease that did not start in time: the customer gets everything back.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::LeaseAborted;
use crate::instructions::lease::unstarted::{close_if_done, Unstarted};
use crate::state::{Credits, Lease, Market, Node, Order, Provider, LEASE_AWARDED, ORDER_EXPIRED};

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
    let mut unstarted = Unstarted {
        market: &accounts.market,
        order: &mut accounts.order,
        credits: &mut accounts.credits,
        node: &mut accounts.node,
        provider: &mut accounts.provider,
        lease: &accounts.lease,
    };
    let released = unstarted.undo(0, now)?;
    if blamed {
        unstarted.lapse(now)?;
    }
    // Nobody has to start at a price that fell since.
    let failed = blamed && accounts.lease.repriced == 0;
    let node = &mut accounts.node;
    if failed {
        let record = node.record(now);
        node.failed(accounts.lease.fee_promised()?)?;
        node.keep_record(&record, now);
        node.note_missed(accounts.order.start_secs, now)?;
    }
    node.invariant()?;
    accounts.order.invariant()?;
    emit!(LeaseAborted { lease: *accounts.lease.address(), released, node_failed: u8::from(failed) });
    close_if_done(&mut accounts.order, accounts.order_rent_payer.account(), &mut accounts.credits)
}
