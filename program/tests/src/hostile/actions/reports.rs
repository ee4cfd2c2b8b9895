use gantry_market::constants::{
    FLAGS_NODE, FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SLOW,
    FLAG_SPEC_MISMATCH, FLAG_WORK_FAILED, HEAD_CANDIDATES,
};
use gantry_market::state::{
    Fault, Keeper, Lease, Node, Payout, Provider, Report, FAULT_APPLIED, KEEPER_ACTIVE, LEASE_RUNNING,
    NODE_ACTIVE, REPORT_FINAL,
};
use solana_address::Address;
use solana_instruction::Instruction;

use crate::hostile::harness::{ATTACKER, KEEPERS};
use crate::hostile::scene::{one, send, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::signed;
use crate::leaves::{statement, tree, LeafData, Proof};
use crate::{ix, pda, Actor};

/// Flags for which a leaf opens a fault.
const SLASHABLE: u16 = FLAGS_NODE | FLAG_BAD_OUTPUT | FLAG_OFFLINE;

/// Who become keepers besides the cast's, now and then.
const CROWD: [usize; 3] = [0, ATTACKER, 9];

/// Keepers agree on something about a period that ended a short time ago; some vote otherwise or twice.
pub fn report_vote(s: &mut Scene) -> Option<Plan> {
    if let Some(plan) = crowd(s) {
        return Some(plan);
    }
    let period = s.a.w.period().checked_sub(1 + s.r.below(4))?;
    if s.a.ledger.get::<Report>(&pda::report(period)).is_some_and(|report| report.status == REPORT_FINAL)
        && !s.once_in(8)
    {
        return None;
    }
    let mut subjects: Vec<(Address, Address)> =
        s.a.ledger.all::<Node>().map(|(at, _)| (*at, Address::default())).collect();
    subjects.extend(s.a.ledger.all::<Lease>().map(|(at, lease)| (lease.node, *at)));
    let mut leaves: Vec<LeafData> = vec![];
    for (node, lease) in subjects {
        let mut leaf = s.a.w.good_leaf(node, lease, period);
        leaf.up_secs = s.below(61) as u32;
        if lease != Address::default() {
            leaf.verified_secs = s.below(61) as u32;
            leaf.downtime_secs = s.r.below(61 - u64::from(leaf.verified_secs)) as u32;
        }
        if let Some(found) = s.a.ledger.get::<Node>(&node).filter(|_| s.once_in(2)) {
            // What evidence has found: the machine's devices, or others.
            leaf.tier = s.below(4) as u8;
            leaf.device_root = if s.once_in(8) { [7; 32] } else { found.device_root };
        }
        measure(s, &mut leaf);
        if s.once_in(6) {
            leaf.flags = 1 << s.below(7);
            if s.once_in(3) {
                leaf.flags = s.below(128) as u16;
            }
        }
        if lease != Address::default() && s.once_in(8) {
            // Gone for too long: the lease fails, and may move.
            (leaf.flags, leaf.verified_secs, leaf.downtime_secs) = (FLAG_OFFLINE, 10, 50);
        }
        leaves.push(leaf);
    }
    if leaves.is_empty() {
        return None;
    }
    let (root, proofs) = tree(&leaves);
    let voters: Vec<Address> =
        s.a.ledger
            .all::<Keeper>()
            .filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE)
            .map(|(_, keeper)| keeper.wallet)
            .collect();
    let mut plan = vec![];
    // More roots than a report has places for, some of which grow.
    let quarrel = voters.len() > HEAD_CANDIDATES && s.once_in(2);
    for wallet in voters {
        let keeper = s.who(&wallet)?;
        let root = if s.once_in(12) {
            s.r.bytes()
        } else if quarrel && !s.once_in(4) {
            [s.below(9) as u8; 32]
        } else {
            root
        };
        if s.once_in(10) {
            continue;
        }
        plan.push(Step::Send(vec![ix::report_vote(keeper, period, root)]));
        if s.once_in(10) {
            let root = match s.below(3) {
                0 => root,
                1 => [s.below(9) as u8; 32],
                _ => s.r.bytes(),
            };
            plan.push(Step::Send(vec![ix::report_vote(keeper, period, root)]));
        }
    }
    plan.extend(moves(s, &proofs));
    // Most leaves are applied soon after.
    for _ in 0..4 {
        let Some(proof) = s.one(proofs.clone()) else { break };
        let mut proof = proof;
        if s.once_in(12) {
            // Deeper than any tree.
            proof.siblings.resize(25 + s.below(3), [9; 32]);
        }
        if s.a.ledger.get::<Node>(&proof.leaf.node).is_none() {
            continue;
        }
        let payer = s.actor().wallet();
        plan.push(Step::Send(vec![if proof.leaf.flags & SLASHABLE == 0 {
            ix::report_apply(&proof)
        } else {
            ix::fault_open(&s.a.w, &payer, &proof)
        }]));
    }
    s.memory.proofs.extend(proofs);
    let excess = s.memory.proofs.len().saturating_sub(60);
    s.memory.proofs.drain(..excess);
    Some(plan)
}

/// What keepers have measured in two thirds of the periods: near to what the node's terms ask for, mostly enough.
pub fn measure(s: &mut Scene, leaf: &mut LeafData) {
    let asked = s.a.ledger.get::<Node>(&leaf.node).map(|node| [node.min_operations, node.min_bandwidth]);
    if s.once_in(3) {
        return;
    }
    let mut near = |asked: u32| {
        let tenths = if s.once_in(6) { s.r.below(10) } else { 7 + s.r.below(6) };
        u32::try_from(u64::from(asked.max(10)) * tenths / 10).unwrap_or(u32::MAX)
    };
    let [operations, bandwidth] = asked.unwrap_or_default().map(&mut near);
    (leaf.operations, leaf.bandwidth) = (operations.max(1), bandwidth);
    (leaf.down_mbps, leaf.up_mbps) = (near(1_000), near(300));
}

/// Sometimes more actors become keepers than a report has places for roots; the four keepers of the harness outvote
/// them.
pub fn crowd(s: &mut Scene) -> Option<Plan> {
    let missing = CROWD.into_iter().filter(|at| s.a.ledger.held(&s.a.actors[*at].keeper()).is_none());
    let missing: Vec<usize> = missing.collect();
    if missing.is_empty() || !s.once_in(6) {
        return None;
    }
    let who: Vec<&Actor> = missing.into_iter().map(|at| &s.a.actors[at]).collect();
    let bond = s.a.w.params.min_bond;
    let send = |instruction| Step::Send(vec![instruction]);
    let mut plan: Plan = who.iter().map(|who| send(ix::keeper_register(&s.a.w, who, bond))).collect();
    plan.push(Step::Warp(i64::from(s.a.w.params.keeper_activation_secs)));
    plan.extend(who.iter().map(|who| send(ix::keeper_activate(who))));
    Some(plan)
}

/// A lease that failed by this report goes to another machine, which asks for as much, and starts.
fn moves(s: &mut Scene, proofs: &[Proof]) -> Plan {
    let mut plan = vec![];
    for proof in proofs {
        let failed = proof.leaf.lease;
        let lease = s.a.ledger.get::<Lease>(&failed).copied().filter(|lease| lease.status == LEASE_RUNNING);
        let Some(lease) = lease.filter(|_| proof.leaf.flags == FLAG_OFFLINE && !s.once_in(4)) else {
            continue;
        };
        let payer = s.actor().wallet();
        plan.push(Step::Send(vec![ix::fault_open(&s.a.w, &payer, proof)]));
        let able = |node: &Node| node.status == NODE_ACTIVE && node.free_gpus() >= lease.gpus;
        let other = s.any_where::<Node>(|node| able(node) && node.node_key != lease.node_key);
        let Some((node, machine)) = other.filter(|_| lease.may_migrate == 1) else { continue };
        let Some(owner) = s.a.ledger.get::<Provider>(&machine.provider) else { continue };
        if machine.price > lease.price && !s.once_in(3) {
            let ask = ix::node_offer(&owner.wallet, &node, &machine, lease.price, NODE_ACTIVE);
            plan.push(Step::Send(vec![ask]));
        }
        let keeper = s.actor_of(&KEEPERS);
        plan.push(Step::Send(vec![ix::lease_migrate(&s.a.w, keeper, &failed, &node)]));
        let moved = pda::lease(&failed, &node);
        plan.push(Step::Send(vec![ix::lease_start_of(&machine.node_key, &lease.order, &moved)]));
    }
    plan
}

fn proof(s: &mut Scene) -> Option<Proof> {
    let all = s.memory.proofs.clone();
    let mut proof = s.one(all)?;
    match s.below(24) {
        0 => proof.siblings.clear(),
        1 => proof.siblings.push([9; 32]),
        2 => proof.siblings.resize(25 + s.below(3), [9; 32]),
        3 => proof.path ^= 1,
        4 => proof.leaf.verified_secs ^= 1,
        _ => {}
    }
    s.a.ledger.get::<Node>(&proof.leaf.node)?;
    Some(proof)
}

/// Names a lease that is closed by its address.
fn without_lease(s: &Scene, mut instruction: Instruction, proof: &Proof, place: usize) -> Instruction {
    let lease = proof.leaf.lease;
    if lease != Address::default() && s.a.ledger.get::<Lease>(&lease).is_none() {
        instruction.accounts[place + 1].pubkey = lease;
        instruction.accounts[place].pubkey = gantry_market::ID;
        instruction.accounts[place].is_writable = false;
    }
    instruction
}

pub fn report_apply(s: &mut Scene) -> Option<Plan> {
    let proof = proof(s)?;
    let apply = ix::report_apply(&proof);
    one(without_lease(s, apply, &proof, 3))
}

pub fn fault_open(s: &mut Scene) -> Option<Plan> {
    let proof = proof(s)?;
    let payer = s.actor().wallet();
    let whole = if s.once_in(3) { s.once_in(2) } else { ix::of_node(&proof) };
    one(ix::fault_open_of(&s.a.w, &payer, &proof, whole))
}

pub fn report_close(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(3), s.a.now());
    let params = s.a.w.params;
    let since = |report: &Report| {
        report.finalised_at.max((report.period as i64 + 1).saturating_mul(i64::from(params.period_secs)))
    };
    let due = |report: &Report| now > since(report) + i64::from(params.report_retention_secs);
    let (_, report) = s.any_where::<Report>(|report| any || due(report))?;
    let to = if s.once_in(6) { s.actor().wallet() } else { report.rent_payer };
    one(ix::report_close(report.period, &to))
}

pub fn slash_apply(s: &mut Scene) -> Option<Plan> {
    let (at, fault) = s.any::<Fault>()?;
    let payer = s.actor().wallet();
    if fault.status == FAULT_APPLIED {
        return one(ix::slash_close(&s.a.w, &at));
    }
    one(ix::slash_apply_by(&s.a.w, &payer, &at))
}

/// A lease of the fault's node, mostly.
pub fn slash_compensate(s: &mut Scene) -> Option<Plan> {
    let applied = !s.once_in(8);
    let (at, fault) = s.any_where::<Fault>(|fault| !applied || fault.status == FAULT_APPLIED)?;
    let any = s.once_in(8);
    let (lease, _) = s.any_where::<Lease>(|lease| any || lease.node == fault.node)?;
    let payer = s.actor().wallet();
    one(ix::slash_compensate_by(&s.a.w, &payer, &at, &lease))
}

/// Mostly when the time for claims is over.
pub fn slash_close(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(3), s.a.now());
    let due = |fault: &Fault| fault.status == FAULT_APPLIED && now >= fault.claims_until;
    let (at, _) = s.any_where::<Fault>(|fault| any || due(fault))?;
    one(ix::slash_close(&s.a.w, &at))
}

/// What is due; now and then what is not, or to another's account.
pub fn payout_claim(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(4), s.a.now());
    let (at, payout) = s.any_where::<Payout>(|payout| any || now >= payout.payable_at)?;
    let mint = s.a.w.stake_mint;
    let to = if s.once_in(8) { s.actor().wallet() } else { payout.beneficiary };
    let tokens = s.tokens_of(&to, &mint)?;
    one(ix::payout_claim(&s.a.w, &at, tokens))
}

/// The check that speaks against the gravest flag.
fn kind_against(flags: u16) -> u8 {
    let kinds = [
        (FLAG_SLOW, 3),
        (FLAG_SPEC_MISMATCH, 2),
        (FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED, 4),
        (FLAG_BAD_OUTPUT, 6),
        (FLAG_WORK_FAILED, 3),
        (FLAG_OFFLINE, 1),
    ];
    kinds.iter().find(|(mask, _)| flags & mask != 0).map_or(5, |(_, kind)| *kind)
}

/// One statement of one keeper, mostly about the right thing.
pub fn slash_appeal(s: &mut Scene) -> Option<Plan> {
    let (at, fault) = s.any::<Fault>()?;
    let (_, keeper) = s.any::<Keeper>()?;
    let who = s.who(&keeper.wallet)?;
    let kind = if s.once_in(4) { 1 + s.below(7) as u8 } else { kind_against(fault.flags) };
    let mut text = statement(&fault.node, fault.period, kind, !s.once_in(8));
    // Figures that are enough, or hardly, or not.
    let figures = s.a.ledger.get::<Node>(&fault.node).map(|node| [node.min_operations, node.min_bandwidth]);
    for (at, asked) in figures.unwrap_or_default().into_iter().enumerate() {
        let tenths = [10, 7, 6][s.below(3)];
        let figure = u32::try_from(u64::from(asked) * tenths / 10).unwrap_or(u32::MAX);
        text[60 + 4 * at..64 + 4 * at].copy_from_slice(&figure.to_le_bytes());
    }
    text[68..72].copy_from_slice(&60u32.to_le_bytes());
    // What is said of a dispute's output is said after the complaint.
    let at_least = if s.once_in(6) { fault.voters_before - 1 } else { s.a.now() };
    text[72..80].copy_from_slice(&at_least.to_le_bytes());
    text[80..112].copy_from_slice(fault.lease.as_ref());
    let appeal = ix::slash_appeal(&s.a.w, &at, who, text);
    let signer = if s.once_in(8) { s.actor() } else { who };
    send(vec![signed(s.signing(signer), &text), appeal])
}
