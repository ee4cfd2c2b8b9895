//! A customer disputes a lease. It costs a deposit, so that keepers are not asked for nothing.

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::DisputeOpened;
use crate::math::dispute::{deposit, possible_slash};
use crate::seeds;
use crate::state::{
    Credits, Dispute, Lease, Market, Node, Params, DISPUTE_BAD_OUTPUT, DISPUTE_NOT_DELIVERED, LEASE_RUNNING,
};

#[derive(Accounts)]
pub struct DisputeOpen {
    #[account(mut, address = lease.customer @ MarketError::Unauthorised)]
    pub customer: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = credits.customer == *customer.address() @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
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

/// What the slash may be, at the lease's terms.
fn amount(params: &Params, lease: &Lease, node: &Node) -> Result<u64> {
    possible_slash(
        node.required_stake,
        lease.slash_bad_work_bps,
        lease.gpus,
        node.spec.gpus,
        lease.paid,
        params.stake_price,
        node.required_stake,
    )
}

/// While the dispute is open it counts like a fault of the lease and the node: they stay, and with the node its own
/// stake. What else the provider has is free.
pub(crate) fn handler(ctx: &mut Context<DisputeOpen>, kind: u8, evidence_hash: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, kind)?;
    let bump = ctx.bumps.dispute;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    let amount = amount(params, &accounts.lease, &accounts.node)?;
    let (settled, cap) = (accounts.lease.paid, params.dispute_deposit);
    let deposit = deposit(settled, cap, amount, params.stake_price, params.appeal_secs)?;
    accounts.credits.reserve(deposit)?;
    let lease = &mut accounts.lease;
    lease.disputed = 1;
    lease.pending_faults = lease.pending_faults.checked_add(1).or_overflow()?;
    let node = &mut accounts.node;
    node.pending_faults = node.pending_faults.checked_add(1).or_overflow()?;
    let dispute = &mut accounts.dispute;
    dispute.lease = *lease.address();
    dispute.node = lease.node;
    dispute.customer = lease.customer;
    dispute.evidence_hash = evidence_hash;
    dispute.total_weight = accounts.market.total_weight;
    dispute.deposit = deposit;
    dispute.amount = amount;
    dispute.stake_price = params.stake_price;
    dispute.appeal_secs = params.appeal_secs;
    dispute.quorum_bps = params.quorum_bps;
    dispute.finder_bps = params.finder_bps;
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
        deposit,
        amount,
        closes_at: dispute.closes_at,
    });
    accounts.dispute.invariant()
}
