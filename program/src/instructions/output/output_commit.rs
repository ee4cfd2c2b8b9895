//! The node of a redundant job commits to its output without showing it, so that no other node can copy it.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::OutputCommitted;
use crate::state::{Lease, Order, LEASE_ENDED, LEASE_RUNNING, OUTPUT_COMMITTED, OUTPUT_WANTED};

#[derive(Accounts)]
pub struct OutputCommit {
    #[account(address = lease.node_key @ MarketError::Unauthorised)]
    pub node_key: Signer,
    #[account(mut, address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

fn validate(accounts: &OutputCommit, now: i64) -> Result<()> {
    let lease = &accounts.lease;
    require!(lease.output == OUTPUT_WANTED, MarketError::WrongOutputState);
    require!(matches!(lease.status, LEASE_RUNNING | LEASE_ENDED), MarketError::WrongLeaseStatus);
    require!(now <= accounts.order.outputs_by, MarketError::TooLate);
    Ok(())
}

/// `commitment` is sha256(`OUTPUT_TAG` ‖ domain ‖ lease ‖ output hash ‖ 32 bytes of salt).
pub(crate) fn handler(ctx: &mut Context<OutputCommit>, commitment: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let (lease, order) = (&mut accounts.lease, &mut accounts.order);
    lease.output = OUTPUT_COMMITTED;
    lease.output_hash = commitment;
    order.outputs = order.outputs.checked_add(1).or_overflow()?;
    emit!(OutputCommitted { lease: *lease.address(), commitment });
    order.invariant()?;
    lease.invariant(now)
}
