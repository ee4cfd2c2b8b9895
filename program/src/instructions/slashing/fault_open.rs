//! Anyone applies a leaf that carries a fault, and so opens the fault: a slash that waits for its appeal window.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::{FLAGS_NODE, LEAF_LEN, VERSION};
use crate::errors::{MarketError, OrOverflow};
use crate::events::FaultOpened;
use crate::instructions::report::leaf::{apply, slash_amount, LeafLease, LeafProof};
use crate::math::periods::period_end;
use crate::math::slashing::harm_in_stake;
use crate::seeds;
use crate::state::{Fault, LeafBytes, Lease, Market, Node, Provider, Report, FAULT_REPORT};

#[derive(Accounts)]
#[instruction(leaf: [u8; 176])]
pub struct FaultOpen {
    #[account(mut)]
    pub payer: Signer,
    pub market: Account<Market>,
    pub report: Account<Report>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    /// Its address instead, when it is closed.
    pub closed_lease: Option<UncheckedAccount>,
    #[account(
        init,
        payer = payer,
        seeds = [
            seeds::FAULT,
            node.address().as_ref(),
            LeafBytes::of(&leaf).lease.as_ref(),
            LeafBytes::of(&leaf).period.as_ref()
        ],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

pub(crate) fn handler(
    ctx: &mut Context<FaultOpen>,
    leaf: [u8; LEAF_LEN],
    path: u32,
    proof: Vec<[u8; 32]>,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    let mut lease = LeafLease::of(&leaf, accounts.lease.as_mut(), accounts.closed_lease.as_ref())?;
    let proven = apply(
        LeafProof { data: &leaf, path, siblings: &proof },
        &accounts.report,
        params,
        &mut accounts.node,
        &mut lease,
        now,
    )?;
    let lease = match lease {
        LeafLease::Live(lease) => Some(lease),
        LeafLease::Closed | LeafLease::None => None,
    };
    let amount = slash_amount(proven.flags, params, &accounts.node, lease.as_deref().map(|l| &**l))?;
    require!(proven.flags != 0, MarketError::NoFault);

    let address = *accounts.fault.address();
    let (fault, node, report) = (&mut accounts.fault, &mut accounts.node, &accounts.report);
    fault.node = *node.address();
    fault.provider = *accounts.provider.address();
    fault.rent_payer = *accounts.payer.address();
    fault.period = report.period;
    fault.reported_at = report.finalised_at;
    fault.applicable_at = report.finalised_at.checked_add(params.appeal_secs as i64).or_overflow()?;
    fault.voters_before = period_end(report.period, params.period_secs)?;
    fault.kind = FAULT_REPORT;
    fault.amount = amount;
    fault.total_weight = report.total_weight;
    fault.flags = proven.flags;
    fault.finder_bps = params.finder_bps;
    fault.version = VERSION;
    fault.bump = bump;
    if let Some(lease) = lease {
        // The customer's harm: what was paid for work that is lost, and the time that was promised and not given.
        let lost = lease.paid.checked_add(lease.owed(proven.leaf.downtime_secs)?).or_overflow()?;
        fault.harm = harm_in_stake(lost, params.stake_price)?;
        fault.lease = *lease.address();
        fault.customer = lease.customer;
        lease.pending_faults = lease.pending_faults.checked_add(1).or_overflow()?;
    }
    node.pending_faults = node.pending_faults.checked_add(1).or_overflow()?;
    if proven.flags & FLAGS_NODE != 0 {
        node.suspend(false, now);
    }
    let provider = &mut accounts.provider;
    provider.pending_faults = provider.pending_faults.checked_add(1).or_overflow()?;
    emit!(FaultOpened {
        fault: address,
        node: fault.node,
        lease: fault.lease,
        period: fault.period,
        flags: fault.flags,
        amount,
        harm: fault.harm,
        applicable_at: fault.applicable_at,
    });
    node.invariant()
}
