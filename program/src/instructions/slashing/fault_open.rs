//! Anyone applies a leaf that carries a fault, and so opens the fault: a slash that waits for its appeal window.
//!
//! A fault of the machine is one for all its leases, whichever leaf shows it. What a leaf says of its lease is a fault of
//! its own.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::{FLAGS_NODE, FLAG_BAD_OUTPUT, LEAF_LEN};
use crate::errors::{MarketError, OrOverflow};
use crate::instructions::report::leaf::{apply, lease_costs, node_costs, LeafLease, LeafProof};
use crate::math::periods::period_end;
use crate::seeds;
use crate::state::{
    Fault, FaultTerms, GpuModel, LeafBytes, Lease, Market, Node, Provider, Report, FAULT_REPORT,
};

#[derive(Accounts)]
#[instruction(of_node: u8, leaf: [u8; 176])]
pub struct FaultOpen {
    #[account(mut)]
    pub payer: Signer,
    pub market: Account<Market>,
    pub report: Account<Report>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    /// The leaf's lease, for what the leaf says of it; none for what it says of the machine.
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    #[account(
        init,
        payer = payer,
        seeds = [
            seeds::FAULT,
            node.address().as_ref(),
            LeafBytes::subject(&leaf, of_node).as_ref(),
            LeafBytes::of(&leaf).period.as_ref()
        ],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// What the new fault says of the machine or, with a lease, of the lease.
#[inline(never)]
fn terms(accounts: &FaultOpen, flags: u16, now: i64) -> Result<FaultTerms> {
    let (node, report, params) = (&accounts.node, &accounts.report, &accounts.market.params);
    let reference_price = accounts.gpu_model.reference_price;
    let end = period_end(report.period, params.period_secs)?;
    let start = end.checked_sub(params.period_secs as i64).or_overflow()?;
    let (lease, window_from, gpus, costs) = match accounts.lease.as_ref() {
        None => {
            let costs = node_costs(params, node, now)?;
            (Address::default(), node.suspect_since(start, end), node.spec.gpus, costs)
        }
        Some(lease) => {
            // A wrong output spoils all that was paid for it; silence is about its period.
            let from = if flags & FLAG_BAD_OUTPUT != 0 { lease.started_at.min(start) } else { start };
            let costs = lease_costs(params, node, lease, reference_price)?;
            (*lease.address(), from, lease.gpus, costs)
        }
    };
    Ok(FaultTerms {
        kind: FAULT_REPORT,
        node: *node.address(),
        provider: *accounts.provider.address(),
        lease,
        finder: Address::default(),
        period: report.period,
        voters_before: end,
        window_from,
        window_until: end,
        costs,
        reference_price,
        total_weight: report.total_weight,
        flags,
        gpus,
        grace_secs: accounts.lease.as_ref().map_or(0, |lease| lease.grace_secs),
    })
}

/// `of_node` is 1 for what the leaf says of the machine, 0 for what it says of its lease.
pub(crate) fn handler(
    ctx: &mut Context<FaultOpen>,
    of_node: u8,
    leaf: [u8; LEAF_LEN],
    path: u32,
    proof: Vec<[u8; 32]>,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    require!(of_node <= 1 && (of_node == 1) == accounts.lease.is_none(), MarketError::InvalidLeaf);
    let mut subject = match accounts.lease.as_mut() {
        Some(lease) => LeafLease::of(&leaf, Some(lease), None)?,
        None => LeafLease::None,
    };
    let proven = apply(
        LeafProof { data: &leaf, path, siblings: &proof },
        &accounts.report,
        &accounts.market.params,
        &mut accounts.node,
        &mut subject,
        now,
    )?;
    require!(proven.flags != 0, MarketError::NoFault);
    // What a leaf says of the machine must not slip by with what it says of the lease.
    require!((of_node == 1) == (proven.flags & FLAGS_NODE != 0), MarketError::LeafCarriesFault);

    let terms = terms(accounts, proven.flags, now)?;
    let payer = *accounts.payer.address();
    let fault = &mut accounts.fault;
    fault.write(&terms, &accounts.market.params, &payer, now, bump)?;
    let (address, cost, node) = (*fault.address(), fault.cost(), &mut accounts.node);
    fault.hold(&address, node, &mut accounts.provider, cost)?;
    match accounts.lease.as_mut() {
        None => {
            node.charge_cause(fault.cost())?;
            node.freeze(fault.window_from)?;
            node.suspend(false, now);
        }
        Some(lease) => lease.add_fault(fault.freezes())?,
    }
    node.invariant()
}
