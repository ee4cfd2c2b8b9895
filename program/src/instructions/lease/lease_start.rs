//! The node starts the lease: the customer's container is reachable, and its time begins to count.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseStarted;
use crate::math::periods::period_of;
use crate::math::window::CLOSED;
use crate::state::{Lease, Market, Order, LEASE_AWARDED, LEASE_RUNNING, ORDER_AWARDED, ORDER_LAPSED};

#[derive(Accounts)]
pub struct LeaseStart {
    #[account(address = lease.node_key @ MarketError::Unauthorised)]
    pub node_key: Signer,
    pub market: Account<Market>,
    #[account(mut, address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

/// Orders over several nodes are all or nothing: no lease starts before the last one is awarded. What continues a
/// failed lease belongs to an order that has started.
fn validate(accounts: &LeaseStart, now: i64) -> Result<()> {
    require!(accounts.lease.status == LEASE_AWARDED, MarketError::WrongLeaseStatus);
    let continues = accounts.lease.continues == 1;
    require!(
        continues || matches!(accounts.order.status, ORDER_AWARDED | ORDER_LAPSED),
        MarketError::WrongOrderStatus
    );
    let since = if continues { accounts.lease.awarded_at } else { accounts.order.awarded_at };
    require!(now <= accounts.order.start_by(since)?, MarketError::TooLate);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<LeaseStart>, connection_hash: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let address = *accounts.lease.address();
    let lease = &mut accounts.lease;
    lease.started_at = now;
    lease.funded_until = now.checked_add(lease.duration_secs as i64).or_overflow()?;
    lease.connection_hash = connection_hash;
    lease.status = LEASE_RUNNING;
    // The report of the running period counts, earlier ones do not.
    let period = period_of(now, accounts.market.params.period_secs)?;
    lease.last_report_period = period.saturating_sub(1);
    lease.report_window = CLOSED;
    if lease.continues == 0 {
        let order = &mut accounts.order;
        order.started = order.started.checked_add(1).or_overflow()?;
        order.invariant()?;
    }
    emit!(LeaseStarted {
        lease: address,
        started_at: now,
        funded_until: lease.funded_until,
        connection_hash,
    });
    lease.invariant(now)
}
