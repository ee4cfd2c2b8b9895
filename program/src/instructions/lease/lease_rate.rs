//! The customer rates a lease that is over. A rating weighs the fee of what was paid, which nobody gets back.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseRated;
use crate::state::{Lease, Node, LEASE_ENDED};

#[derive(Accounts)]
pub struct LeaseRate {
    #[account(address = lease.customer @ MarketError::Unauthorised)]
    pub customer: Signer,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

pub(crate) fn handler(ctx: &mut Context<LeaseRate>, stars: u8) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let (lease, node) = (&mut accounts.lease, &mut accounts.node);
    require!(lease.status == LEASE_ENDED, MarketError::WrongLeaseStatus);
    require!((1..=5).contains(&stars) && lease.rating == 0 && lease.paid != 0, MarketError::InvalidRating);
    let now = Clock::get()?.unix_timestamp;
    let record = node.record(now);
    lease.rating = stars;
    let weight = lease.fee_total()?;
    let weighed = weight.checked_mul(stars as u64).or_overflow()?;
    node.rating_sum = node.rating_sum.checked_add(weighed).or_overflow()?;
    node.rating_weight = node.rating_weight.checked_add(weight).or_overflow()?;
    node.keep_record(&record, now);
    emit!(LeaseRated { lease: *lease.address(), node: *node.address(), stars, weight });
    node.invariant()?;
    lease.invariant(now)
}
