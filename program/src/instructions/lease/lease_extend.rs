//! The customer, or one of its session keys, pays for more time at the lease's own price.

use anchor_lang::prelude::*;

use crate::constants::MAX_DURATION_SECS;
use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseExtended;
use crate::state::{Credits, Lease, LEASE_RUNNING, OUTPUT_NONE};

#[derive(Accounts)]
pub struct LeaseExtend {
    pub authority: Signer,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

pub(crate) fn handler(ctx: &mut Context<LeaseExtend>, seconds: u32) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let address = *accounts.lease.address();
    let lease = &mut accounts.lease;
    require!(lease.status == LEASE_RUNNING && lease.notice_at == 0, MarketError::WrongLeaseStatus);
    // The deadlines of a redundant job follow from the time that it was ordered for.
    require!(lease.output == OUTPUT_NONE, MarketError::WrongOutputState);
    require!(now < lease.funded_until, MarketError::TooLate);
    let funded = lease.funded_until.checked_sub(lease.started_at).or_overflow()?;
    let before = u32::try_from(funded).ok().or_overflow()?;
    let after = before.checked_add(seconds).or_overflow()?;
    require!(seconds != 0 && after <= MAX_DURATION_SECS, MarketError::InvalidDuration);
    // From totals, so that extending twice costs the same as extending once.
    let amount = lease.owed(after)?.checked_sub(lease.owed(before)?).or_overflow()?;
    let slot = accounts.credits.actor(accounts.authority.address(), now)?;
    accounts.credits.reserve_for(slot, amount)?;
    lease.reserved = lease.reserved.checked_add(amount).or_overflow()?;
    lease.funded_until = lease.funded_until.checked_add(seconds as i64).or_overflow()?;
    emit!(LeaseExtended {
        lease: address,
        seconds,
        reserved: lease.reserved,
        funded_until: lease.funded_until,
    });
    lease.invariant(now)
}
