//! Convicts a node of a wrong work claim, without a vote: the program follows the entry to the claimed root and computes
//! the right value itself. The fault that follows has no appeal: it may be applied at once, and compensates the leases
//! that have paid since the machine was last known to be good.
//!
//! One proof covers all work claims up to the period of the proof, and all until the wallet says that the node is mended:
//! a machine that computes wrongly is slashed once, not once for every keeper that asked it, nor once a period.
//!
//! The fault has no finder: a part for who brings the proof would go to a thief of the node's key, who can make one.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::{FLAG_WORK_FAILED, WORK_CHUNK};
use crate::errors::{MarketError, OrOverflow};
use crate::events::BadWorkProven;
use crate::math::merkle::climb;
use crate::math::periods::{period_end, period_of};
use crate::math::work::cell;
use crate::seeds;
use crate::state::{Fault, FaultTerms, FraudProof, Market, Node, Provider, FAULT_WORK, NODE_RETIRED};

#[derive(Accounts)]
pub struct ProveBadWork {
    #[account(mut, address = fraud_proof.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    pub market: Account<Market>,
    #[account(mut, close = finder)]
    pub fraud_proof: Account<FraudProof>,
    #[account(mut, address = fraud_proof.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        init,
        payer = finder,
        seeds = [seeds::WORK_FAULT, fraud_proof.address().as_ref(), &fraud_proof.period.to_le_bytes()],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// Whether the chunk lies at its place under the claimed root. The order of the product fixes the shape of the row's
/// tree and of the tree over the rows, so that a path of another shape does not lead there.
fn claimed(fraud_proof: &FraudProof, siblings: &[[u8; 32]]) -> bool {
    let chunks = fraud_proof.order / WORK_CHUNK;
    let mut rest = siblings.iter();
    let root = climb(fraud_proof.chunk, fraud_proof.column / WORK_CHUNK, chunks, &mut rest)
        .and_then(|row| climb(row, fraud_proof.row, fraud_proof.order, &mut rest));
    root == Some(fraud_proof.root) && rest.next().is_none()
}

/// The entry as it should be.
fn validate(accounts: &ProveBadWork, siblings: &[[u8; 32]], period: u64) -> Result<i32> {
    let (fraud_proof, node) = (&accounts.fraud_proof, &accounts.node);
    // What a machine committed to before it was mended has the cause that was proven. What its key signs after the node
    // has left says nothing about the machine.
    let period_secs = accounts.market.params.period_secs;
    let mended = period_of(node.mended_at, period_secs)?;
    require!(fraud_proof.period > node.bad_work_period.max(mended), MarketError::AlreadyProven);
    let left = node.status == NODE_RETIRED && fraud_proof.period > period_of(node.retired_at, period_secs)?;
    require!(!left, MarketError::WrongNodeStatus);
    // A claim of a future period would count again after its proof.
    require!(fraud_proof.period <= period, MarketError::TooEarly);
    require!(claimed(fraud_proof, siblings), MarketError::InvalidProof);
    let right = cell(&fraud_proof.seed, fraud_proof.order, fraud_proof.row, fraud_proof.column);
    require!(right != fraud_proof.claimed, MarketError::WorkIsRight);
    Ok(right)
}

/// Convicts the node and opens the fault. What is paid since is compensated out of it, what is not never will be paid.
#[inline(never)]
fn convict(accounts: &mut ProveBadWork, due: u64, bump: u8, now: i64) -> Result<()> {
    let (params, proof, node) = (&accounts.market.params, &accounts.fraud_proof, &mut accounts.node);
    let end = period_end(proof.period, params.period_secs)?;
    let start = end.checked_sub(params.period_secs as i64).or_overflow()?;
    let terms = FaultTerms {
        kind: FAULT_WORK,
        node: proof.node,
        provider: node.provider,
        lease: Address::default(),
        finder: Address::default(),
        period: proof.period,
        voters_before: end,
        window_from: node.suspect_since(start, end),
        window_until: end.min(now),
        costs: [0, due, 0, 0],
        reference_price: node.reference_price,
        total_weight: 0,
        flags: FLAG_WORK_FAILED,
        gpus: node.spec.gpus,
        grace_secs: 0,
    };
    let (fault, payer) = (&mut accounts.fault, accounts.finder.address());
    fault.write(&terms, params, payer, now, bump)?;
    fault.applicable_at = now;
    let address = *fault.address();
    fault.hold(&address, node, &mut accounts.provider, due)?;
    node.charge_cause(due)?;
    // Until it is applied no lease closes that it is to compensate.
    node.freeze(fault.window_from)?;
    node.convict(fault.window_from, now);
    node.faulted_at = now;
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<ProveBadWork>, siblings: Vec<[u8; 32]>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let period = period_of(now, ctx.accounts.market.params.period_secs)?;
    let right = validate(&ctx.accounts, &siblings, period)?;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let due = accounts.node.cause_left(accounts.market.params.slash_bad_work_bps, now)?;
    // One cause is slashed once: until the wallet says that the node is mended, no more than the difference is due. So
    // somebody with the node's key cannot have it slashed again and again.
    require!(due > 0, MarketError::AlreadyProven);
    accounts.node.bad_work_period = period;
    convict(accounts, due, bump, now)?;
    let fraud_proof = &accounts.fraud_proof;
    emit!(BadWorkProven {
        node: fraud_proof.node,
        provider: *accounts.provider.address(),
        finder: *accounts.finder.address(),
        fault: *accounts.fault.address(),
        period: fraud_proof.period,
        row: fraud_proof.row,
        column: fraud_proof.column,
        claimed: fraud_proof.claimed,
        right,
    });
    accounts.node.invariant()
}
