//! A customer disputes a lease. It costs a deposit, so that keepers are not asked for nothing.

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::DisputeOpened;
use crate::seeds;
use crate::state::{
    Credits, Dispute, Lease, Market, Node, Provider, DISPUTE_BAD_OUTPUT, DISPUTE_NOT_DELIVERED, LEASE_RUNNING,
};

#[derive(Accounts)]
pub struct DisputeOpen {
    #[account(mut, address = lease.customer @ MarketError::Unauthorised)]
    pub customer: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = credits.customer == *customer.address() @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut)]
    pub lease: Account<Lease>,
    #[account(init, payer = customer, seeds = [seeds::DISPUTE, lease.address().as_ref()], bump)]
    pub dispute: Account<Dispute>,
    pub system_program: Program<System>,
}

fn validate(accounts: &DisputeOpen, kind: u8) -> Result<()> {
    require!((DISPUTE_NOT_DELIVERED..=DISPUTE_BAD_OUTPUT).contains(&kind), MarketError::UnknownDispute);
    require!(accounts.lease.status >= LEASE_RUNNING, MarketError::WrongLeaseStatus);
    // Once: a customer could hold the provider's stake for ever with one dispute after another.
    require!(accounts.lease.disputed == 0, MarketError::AlreadyDisputed);
    Ok(())
}

/// While the dispute is open it counts like a fault: the lease and the node stay, and so does the stake.
pub(crate) fn handler(ctx: &mut Context<DisputeOpen>, kind: u8, evidence_hash: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, kind)?;
    let bump = ctx.bumps.dispute;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    accounts.credits.reserve(params.dispute_deposit)?;
    let lease = &mut accounts.lease;
    lease.disputed = 1;
    lease.pending_faults = lease.pending_faults.checked_add(1).or_overflow()?;
    let (node, provider) = (&mut accounts.node, &mut accounts.provider);
    node.pending_faults = node.pending_faults.checked_add(1).or_overflow()?;
    provider.pending_faults = provider.pending_faults.checked_add(1).or_overflow()?;
    let dispute = &mut accounts.dispute;
    dispute.lease = *lease.address();
    dispute.node = lease.node;
    dispute.customer = lease.customer;
    dispute.evidence_hash = evidence_hash;
    dispute.total_weight = accounts.market.total_weight;
    dispute.deposit = params.dispute_deposit;
    dispute.opened_at = now;
    dispute.closes_at = now.checked_add(params.appeal_secs as i64).or_overflow()?;
    dispute.kind = kind;
    dispute.version = VERSION;
    dispute.bump = bump;
    emit!(DisputeOpened {
        dispute: *dispute.address(),
        lease: dispute.lease,
        kind,
        evidence_hash,
        deposit: dispute.deposit,
        closes_at: dispute.closes_at,
    });
    dispute.invariant()
}
