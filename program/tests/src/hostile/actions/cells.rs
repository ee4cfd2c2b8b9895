//! Measurements of machines and proofs of wrong bytes in them: mostly right ones, since a machine that computes wrongly is
//! soon of no use.

use gantry_market::state::{FraudProof, Node, NODE_ACTIVE};

use crate::hostile::harness::KEEPERS;
use crate::hostile::scene::{one, send, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::signed;
use crate::measure::{Measured, PROCESSORS};
use crate::{ix, pda};

fn measured(s: &mut Scene, node: &solana_address::Address, wrong: u8) -> Measured {
    let at = (s.below(1_024) as u32, s.below(256) as u8);
    let period = (s.a.w.period() + u64::from(s.once_in(8))).saturating_sub(s.r.below(2));
    Measured::new(*node, period, PROCESSORS, at, wrong)
}

pub fn fraud_proof_commitment(s: &mut Scene) -> Option<Plan> {
    let finder = s.actor_of(&KEEPERS);
    let (node, machine) = s.any::<Node>()?;
    let wrong = u8::from(s.once_in(5));
    let mut m = measured(s, &node, wrong);
    match s.below(10) {
        0 => m.domain[0] ^= 1,
        1 => m.instant[0] ^= 1,
        2 => m.profile.walk_ms += 1,
        _ => {}
    }
    let mut both =
        ix::signed_fraud_proof_commitment(&finder.wallet(), s.key(&machine.node_key)?, &m).to_vec();
    if s.once_in(10) {
        let other = s.actor();
        both[0] = signed(&other.key, &m.commitment());
    }
    let at = pda::fraud_proof(&node, &finder.wallet());
    if s.a.ledger.held(&at).is_none() {
        s.memory.measured.insert(at, m);
    }
    send(both)
}

pub fn fraud_proof_leaf(s: &mut Scene) -> Option<Plan> {
    let (at, proof) = s.any::<FraudProof>()?;
    let mut m = s.memory.measured.get(&at)?.clone();
    match s.below(10) {
        0 => m.at ^= 1,
        1 => m.round ^= 1,
        // A right one of the same leaf.
        2 => m.group ^= 1,
        _ => {}
    }
    one(ix::fraud_proof_leaf(&proof.finder, &m))
}

/// Two wallets prove that a machine computed wrongly: the second has no cause left.
fn proven_twice(s: &mut Scene) -> Option<Plan> {
    let (node, machine) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let (first, second) = (s.actor(), s.actor());
    let period = s.a.w.period();
    // The same measurement, or one of the period before.
    let periods = [period, period - u64::from(s.once_in(3))];
    let (mut plan, mut proofs) = (vec![], vec![]);
    for (finder, period) in [first, second].into_iter().zip(periods) {
        let at = (s.below(1_024) as u32, s.below(256) as u8);
        let m = Measured::new(node, period, PROCESSORS, at, 1);
        let both = ix::signed_fraud_proof_commitment(&finder.wallet(), s.key(&machine.node_key)?, &m);
        plan.push(Step::Send(both.to_vec()));
        plan.push(Step::Send(vec![ix::fraud_proof_leaf(&finder.wallet(), &m)]));
        let of = (&machine.provider, machine.spec.model);
        proofs.push(Step::Send(vec![ix::prove_wrong_cell_of(finder, &node, period, of, &m.siblings().1)]));
    }
    plan.extend(proofs);
    Some(plan)
}

/// From the commitment to the conviction.
fn proven(s: &mut Scene) -> Option<Plan> {
    let (node, machine) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let finder = s.actor();
    let at = pda::fraud_proof(&node, &finder.wallet());
    if s.a.ledger.held(&at).is_some() {
        return None;
    }
    // Right bytes often: whoever could prove one of them would take an honest machine's stake.
    let wrong = u8::from(s.once_in(2));
    let m = measured(s, &node, wrong);
    let both = ix::signed_fraud_proof_commitment(&finder.wallet(), s.key(&machine.node_key)?, &m);
    let proof = ix::prove_wrong_cell_of(
        finder,
        &node,
        m.period,
        (&machine.provider, machine.spec.model),
        &m.siblings().1,
    );
    Some(vec![
        Step::Send(both.to_vec()),
        Step::Send(vec![ix::fraud_proof_leaf(&finder.wallet(), &m)]),
        Step::Send(vec![proof]),
    ])
}

pub fn prove_wrong_cell(s: &mut Scene) -> Option<Plan> {
    match s.below(6) {
        0 => return proven_twice(s),
        1 | 2 => return proven(s),
        _ => {}
    }
    let (at, proof) = s.any::<FraudProof>()?;
    let mut siblings = s.memory.measured.get(&at)?.siblings().1;
    match s.below(16) {
        0 => drop(siblings.pop()),
        1 => siblings.push([1; 32]),
        2 => siblings.clear(),
        _ => {}
    }
    s.a.ledger.get::<Node>(&proof.node)?;
    let finder = s.who(&proof.finder)?;
    one(ix::prove_wrong_cell(&s.a.w, finder, &proof.node, &siblings))
}
