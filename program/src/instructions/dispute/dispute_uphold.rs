//! Anyone turns a dispute that keepers decided for the customer into a fault. The deposit is free again, and the slash
//! waits for its appeal window, as that of a report does.

use anchor_lang::prelude::*;

use crate::constants::FLAG_BAD_OUTPUT;
use crate::errors::{MarketError, OrOverflow};
use crate::events::DisputeResolved;
use crate::math::periods::period_of;
use crate::seeds;
use crate::state::{
    Credits, Dispute, Fault, FaultTerms, GpuModel, Lease, Market, Node, Provider, Verdict, FAULT_DISPUTE,
};

#[derive(Accounts)]
pub struct DisputeUphold {
    #[account(mut, unsafe(dup))]
    pub payer: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = credits.customer == dispute.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = dispute.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(mut, address = dispute.lease @ MarketError::WrongAccount)]
    pub lease: Account<Lease>,
    #[account(mut, close = customer)]
    pub dispute: Account<Dispute>,
    // Only its lamports change, so it may also be the payer.
    #[account(mut, unsafe(dup), address = dispute.customer @ MarketError::WrongAccount)]
    pub customer: UncheckedAccount,
    #[account(init, payer = payer, seeds = [seeds::DISPUTE_FAULT, dispute.lease.as_ref()], bump)]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// All terms are the dispute's: what the market asks since does not reach back.
pub(crate) fn handler(ctx: &mut Context<DisputeUphold>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let period = period_of(now, accounts.market.params.period_secs)?;
    require!(accounts.dispute.verdict() == Verdict::Upheld, MarketError::DisputeNotUpheld);
    let (dispute, lease) = (&accounts.dispute, &accounts.lease);
    accounts.credits.release(dispute.deposit)?;

    let terms = FaultTerms {
        kind: FAULT_DISPUTE,
        node: dispute.node,
        provider: lease.provider,
        lease: dispute.lease,
        // The claimant found it: no keeper earns more by upholding than by rejecting.
        finder: dispute.customer,
        period,
        // A keeper that could not vote on the dispute does not void its verdict either.
        voters_before: dispute.opened_at,
        // It is about all of the lease.
        window_from: lease.started_at,
        window_until: if lease.ended_at != 0 { lease.ended_at } else { now.min(lease.funded_until) },
        costs: [0, 0, dispute.amount, 0],
        reference_price: accounts.gpu_model.reference_price,
        total_weight: dispute.total_weight,
        flags: FLAG_BAD_OUTPUT,
        gpus: lease.gpus,
        grace_secs: lease.grace_secs,
    };
    let payer = *accounts.payer.address();
    let fault = &mut accounts.fault;
    fault.write(&terms, &accounts.market.params, &payer, now, bump)?;
    fault.applicable_at = now.checked_add(dispute.appeal_secs as i64).or_overflow()?;
    fault.dispute_kind = dispute.kind;
    fault.stake_price = dispute.stake_price;
    fault.finder_bps = dispute.finder_bps;
    fault.amount = accounts.node.reserve(dispute.amount)?;
    accounts.lease.frozen = accounts.lease.frozen.checked_add(1).or_overflow()?;
    fault.announce(fault.address())?;
    // What held lease and node for the dispute now holds them for the fault, and the fault holds the provider too. The
    // dispute counts as lost when the slash is applied: it can still be appealed.
    let provider = &mut accounts.provider;
    provider.pending_faults = provider.pending_faults.checked_add(1).or_overflow()?;
    emit!(DisputeResolved {
        dispute: *accounts.dispute.address(),
        lease: accounts.dispute.lease,
        upheld: 1,
        to_provider: 0,
        to_buy_back: 0,
        upheld_weight: accounts.dispute.upheld_weight,
        rejected_weight: accounts.dispute.rejected_weight,
    });
    accounts.node.invariant()
}
