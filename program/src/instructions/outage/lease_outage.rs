//! A keeper fails a running lease of a node that was away by the votes of the keepers' quorum. It ends at the node's last
//! answer, or where its payment ends. What follows is what follows a report that the node was away: an offline fault at the
//! lease's terms, a failure in the node's record, and the customer's right to go on elsewhere.
//!
//! Only leases that may move fail so: for others it is better to wait. Keepers send the move in the same transaction, so
//! that nothing ends that has nowhere to go.

use anchor_lang::prelude::*;

use crate::constants::FLAG_OFFLINE;
use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseFailed;
use crate::instructions::report::leaf::lease_costs;
use crate::math::periods::{period_end, period_of};
use crate::seeds;
use crate::state::{
    Fault, FaultTerms, GpuModel, Keeper, Lease, Market, Node, Outage, Provider, FAULT_OUTAGE, KEEPER_ACTIVE,
    LEASE_FAILED, LEASE_RUNNING,
};

#[derive(Accounts)]
pub struct LeaseOutage {
    /// Pays the fault's rent and gets it back.
    #[account(mut)]
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(constraint = outage.node == *node.address() @ MarketError::WrongAccount)]
    pub outage: Account<Outage>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(mut)]
    pub lease: Account<Lease>,
    #[account(
        init,
        payer = signer,
        seeds = [seeds::OUTAGE_FAULT, lease.address().as_ref()],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

fn validate(accounts: &LeaseOutage, now: i64) -> Result<()> {
    // Nothing ends while nothing can move.
    accounts.market.awards_open()?;
    require!(accounts.keeper.status == KEEPER_ACTIVE, MarketError::KeeperNotActive);
    let (outage, lease) = (&accounts.outage, &accounts.lease);
    require!(outage.seen_at != 0 && !outage.over(now)?, MarketError::NoOutage);
    require!(lease.status == LEASE_RUNNING, MarketError::WrongLeaseStatus);
    // Its start was a sign of life.
    require!(lease.started_at <= outage.last_answer, MarketError::NoOutage);
    Ok(())
}

/// It has failed at the last answer, or where its payment ends.
fn fail(lease: &mut Account<Lease>, last_answer: i64, period_secs: u32, now: i64) -> Result<()> {
    lease.status = LEASE_FAILED;
    lease.away = 1;
    lease.ended_at = last_answer.min(lease.funded_until).max(lease.paid_until()?);
    require!(lease.can_migrate()?, MarketError::MigrationNotAllowed);
    let (period, ended_at) = (period_of(lease.ended_at, period_secs)?, lease.ended_at);
    emit!(LeaseFailed { lease: *lease.address(), period, ended_at });
    lease.invariant(now)
}

/// The fault of the period in which the lease has ended: as of a report about it.
#[inline(never)]
fn terms(accounts: &LeaseOutage) -> Result<FaultTerms> {
    let (node, lease, params) = (&accounts.node, &accounts.lease, &accounts.market.params);
    let reference_price = accounts.gpu_model.reference_price;
    let period = period_of(lease.ended_at, params.period_secs)?;
    let end = period_end(period, params.period_secs)?;
    Ok(FaultTerms {
        kind: FAULT_OUTAGE,
        node: *node.address(),
        provider: *accounts.provider.address(),
        lease: *lease.address(),
        finder: Address::default(),
        period,
        voters_before: accounts.outage.opened_at,
        window_from: end.checked_sub(params.period_secs as i64).or_overflow()?,
        window_until: end,
        costs: lease_costs(params, node, lease, reference_price)?,
        reference_price,
        total_weight: accounts.outage.total_weight,
        flags: FLAG_OFFLINE,
        gpus: lease.gpus,
        // Only who saw the lease run for the whole period says the opposite.
        grace_secs: 0,
    })
}

pub(crate) fn handler(ctx: &mut Context<LeaseOutage>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    fail(&mut accounts.lease, accounts.outage.last_answer, accounts.market.params.period_secs, now)?;
    let terms = terms(accounts)?;
    let payer = *accounts.signer.address();
    let fault = &mut accounts.fault;
    fault.write(&terms, &accounts.market.params, &payer, now, bump)?;
    let (address, cost, node) = (*fault.address(), fault.cost(), &mut accounts.node);
    fault.hold(&address, node, &mut accounts.provider, cost)?;
    accounts.lease.add_fault(fault.freezes())?;
    node.invariant()
}
