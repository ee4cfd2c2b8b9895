//! What follows from a proof that a node has signed a wrong byte of a measurement.
//!
//! One proof covers all that was signed up to the period of the proof, and all until the wallet says that the node is
//! mended: a machine that computes wrongly is slashed once, not once for every keeper that asked it, nor once a period.
//!
//! The fault has no finder: a part for who brings the proof would go to a thief of the node's key, who can make one.

use anchor_lang::prelude::*;

use crate::constants::FLAG_WORK_FAILED;
use crate::errors::{MarketError, OrOverflow};
use crate::math::periods::{period_end, period_of};
use crate::state::{Fault, FaultTerms, FraudProof, Market, Node, Provider, FAULT_WORK, NODE_RETIRED};

/// Whether what was signed is still to be judged; `period` is the running one.
#[inline(never)]
pub(crate) fn require_fresh(market: &Market, node: &Node, signed: u64, period: u64) -> Result<()> {
    // What a machine committed to before it was mended has the cause that was proven. What its key signs after the node
    // has left says nothing about the machine.
    let period_secs = market.params.period_secs;
    let mended = period_of(node.mended_at, period_secs)?;
    require!(signed > node.bad_work_period.max(mended), MarketError::AlreadyProven);
    let left = node.status == NODE_RETIRED && signed > period_of(node.retired_at, period_secs)?;
    require!(!left, MarketError::WrongNodeStatus);
    // What was signed for a future period would count again after its proof.
    require!(signed <= period, MarketError::TooEarly);
    Ok(())
}

/// Convicts the node and opens the fault. What is paid since is compensated out of it, what is not never will be paid.
#[inline(never)]
pub(crate) fn convict(
    market: &Market,
    proof: &FraudProof,
    (node, provider): (&mut Node, &mut Provider),
    fault: &mut Account<Fault>,
    (bump, now): (u8, i64),
) -> Result<()> {
    let params = &market.params;
    let due = node.cause_left(params.slash_bad_work_bps, now)?;
    // One cause is slashed once: until the wallet says that the node is mended, no more than the difference is due. So
    // somebody with the node's key cannot have it slashed again and again.
    require!(due > 0, MarketError::AlreadyProven);
    node.bad_work_period = period_of(now, params.period_secs)?;
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
    fault.write(&terms, params, &proof.finder, now, bump)?;
    fault.applicable_at = now;
    let address = *fault.address();
    fault.hold(&address, node, provider, due)?;
    node.charge_cause(due)?;
    // Until it is applied no lease closes that it is to compensate.
    node.freeze(fault.window_from)?;
    node.convict(fault.window_from, now);
    node.faulted_at = now;
    node.invariant()
}
