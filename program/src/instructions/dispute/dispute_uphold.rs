//! Anyone turns a dispute that keepers decided for the customer into a fault. The deposit is free again, and the slash
//! waits for its appeal window, as that of a report does.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::{FLAG_BAD_OUTPUT, VERSION};
use crate::errors::{MarketError, OrOverflow};
use crate::events::{DisputeResolved, FaultOpened};
use crate::math::fees::bps_of;
use crate::math::periods::period_of;
use crate::math::slashing::harm_in_stake;
use crate::seeds;
use crate::state::{Credits, Dispute, Fault, Lease, Market, Node, Provider, Verdict};

#[derive(Accounts)]
#[instruction(period: u64)]
pub struct DisputeUphold {
    #[account(mut, unsafe(dup))]
    pub payer: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = credits.customer == dispute.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = dispute.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(address = dispute.lease @ MarketError::WrongAccount)]
    pub lease: Account<Lease>,
    #[account(mut, close = customer)]
    pub dispute: Account<Dispute>,
    // Only its lamports change, so it may also be the payer.
    #[account(mut, unsafe(dup), address = dispute.customer @ MarketError::WrongAccount)]
    pub customer: UncheckedAccount,
    #[account(
        init,
        payer = payer,
        seeds = [
            seeds::FAULT,
            dispute.node.as_ref(),
            dispute.lease.as_ref(),
            &period.to_le_bytes()
        ],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// `period` is the running one: it makes the fault's address, and says which statements may speak against it.
pub(crate) fn handler(ctx: &mut Context<DisputeUphold>, period: u64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    require!(period == period_of(now, params.period_secs)?, MarketError::WrongPeriod);
    require!(accounts.dispute.verdict(params.quorum_bps) == Verdict::Upheld, MarketError::DisputeNotUpheld);
    let (dispute, lease) = (&accounts.dispute, &accounts.lease);
    accounts.credits.release(dispute.deposit)?;

    let address = *accounts.fault.address();
    let fault = &mut accounts.fault;
    fault.node = dispute.node;
    fault.provider = lease.provider;
    fault.lease = dispute.lease;
    fault.customer = dispute.customer;
    fault.finder = dispute.finder;
    fault.rent_payer = *accounts.payer.address();
    fault.period = period;
    fault.reported_at = now;
    fault.applicable_at = now.checked_add(params.appeal_secs as i64).or_overflow()?;
    fault.amount = bps_of(accounts.node.required_stake, lease.slash_bad_work_bps)?;
    // The customer's harm is what it paid.
    fault.harm = harm_in_stake(lease.paid, params.stake_price)?;
    fault.total_weight = dispute.total_weight;
    fault.flags = FLAG_BAD_OUTPUT;
    fault.finder_bps = params.finder_bps;
    fault.version = VERSION;
    fault.bump = bump;
    emit!(FaultOpened {
        fault: address,
        node: fault.node,
        lease: fault.lease,
        period,
        flags: fault.flags,
        amount: fault.amount,
        harm: fault.harm,
        applicable_at: fault.applicable_at,
    });
    // What held lease, node and stake for the dispute now holds them for the fault.
    let node = &mut accounts.node;
    node.disputes_lost = node.disputes_lost.checked_add(1).or_overflow()?;
    node.dispute_lost_at = now;
    emit!(DisputeResolved {
        dispute: *accounts.dispute.address(),
        lease: accounts.dispute.lease,
        upheld: 1,
        deposit_lost: 0,
        upheld_weight: accounts.dispute.upheld_weight,
        rejected_weight: accounts.dispute.rejected_weight,
    });
    accounts.node.invariant()
}
