use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{GpuModel, Node, NODE_ACTIVE};
use solana_address::Address;

use super::super::reports::measure;
use super::{market, recovered, reported, Job};
use crate::hostile::harness::KEEPERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::signed;
use crate::leaves::{self, tree};
use crate::testbed::H100;
use crate::{ix, pda};

/// A class is calibrated and its machines are measured; one of them is too slow for it, at most in one period not.
pub fn slow(s: &mut Scene) -> Option<Scenario> {
    let (node, _) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let (fair, asleep) = (s.below(8), s.below(12));
    let mut scenario =
        Scenario::default().then(recovered).then(calibrated).then(move |s| sold(s, node)).then(rested);
    for at in 0..6 {
        let share = if at == fair { 10 } else { 1 + s.r.below(6) };
        scenario = scenario.then_if(at == asleep, move |s| again(s, node));
        scenario = scenario.then(move |s| period(s, node, share));
        scenario = scenario.then_if(s.once_in(3), move |s| sold(s, node));
    }
    let change = s.once_in(2);
    Some(scenario.then_if(change, calibrated).then(move |s| appealed(s, node)))
}

/// Machines are measured well, and are not measured in a period; then they are sold.
pub fn missed(s: &mut Scene) -> Option<Scenario> {
    let (node, _) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let mut scenario = Scenario::default().then(recovered).then(calibrated).then(rested);
    for _ in 0..2 + s.below(2) {
        scenario = scenario.then(move |s| period(s, node, 8));
    }
    let unmeasured = s.once_in(2);
    scenario = scenario.then_if(unmeasured, move |s| period(s, node, 0));
    scenario = scenario.then_if(!unmeasured, move |s| again(s, node));
    Some(scenario.then(move |s| sold(s, node)))
}

/// The model's figures are put into force, or doubled or halved, and every node accepts them.
fn calibrated(s: &mut Scene) -> Option<Plan> {
    let authority = market(s)?.authority;
    let model = s.a.ledger.get::<GpuModel>(&pda::gpu_model(H100))?;
    let next = |figure: u32, first: u32| match figure {
        0 => first,
        figure if figure > 4_000 => figure / 2,
        figure => 2 * figure,
    };
    let args = GpuModelArgs {
        min_operations: next(model.min_operations, 1_000),
        min_bandwidth: next(model.min_bandwidth, 500),
        min_stake: model.min_stake,
        reference_price: model.reference_price,
        min_tier: model.min_tier,
        profile: model.profile,
        ..ix::h100()
    };
    let mut propose = ix::gpu_model_propose(&s.a.w, args);
    propose.accounts[0].pubkey = authority;
    let timelock = i64::from(market(s)?.params.timelock_secs);
    let mut plan = vec![
        Step::Send(vec![propose]),
        Step::Warp(timelock),
        Step::Send(vec![ix::gpu_model_apply(H100)]),
        Step::Warp(1),
    ];
    for (at, node) in s.a.ledger.all::<Node>() {
        plan.push(Step::Send(vec![ix::node_accept_terms(&s.a.w, &node.node_key, at)]));
    }
    Some(plan)
}

/// The period of the change is over.
fn rested(s: &mut Scene) -> Option<Plan> {
    Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))])
}

/// The running period, in which the node has so many tenths of its class, and others what they have. What is too little
/// for `report_apply` opens a fault.
fn period(s: &mut Scene, node: Address, tenths: u64) -> Option<Plan> {
    let period = s.a.w.period();
    let found = *s.a.ledger.get::<Node>(&node)?;
    let mut leaf = s.a.w.good_leaf(node, Address::default(), period);
    let of = |asked: u32| u32::try_from(u64::from(asked) * tenths / 10).unwrap_or(u32::MAX);
    (leaf.operations, leaf.bandwidth) = (of(found.min_operations), of(found.min_bandwidth));
    if leaf.operations == 0 {
        leaf.bandwidth = 0;
    }
    let mut all = vec![leaf];
    let others = |(at, _): (&Address, &Node)| (*at != node).then_some(*at);
    let others: Vec<Address> = s.a.ledger.all::<Node>().filter_map(others).collect();
    for at in others.into_iter().filter(|_| s.once_in(4)).collect::<Vec<_>>() {
        let mut leaf = s.a.w.good_leaf(at, Address::default(), period);
        measure(s, &mut leaf);
        all.push(leaf);
    }
    let applied: Vec<usize> = (0..all.len()).collect();
    let mut plan = reported(s, period, &all, &applied)?;
    let payer = s.actor().wallet();
    let (_, proofs) = tree(&all);
    plan.push(Step::Send(vec![ix::fault_open_of(&s.a.w, &payer, proofs.first()?, true)]));
    Some(plan)
}

/// It sleeps, and wakes at once.
fn again(s: &mut Scene, node: Address) -> Option<Plan> {
    let found = s.a.ledger.get::<Node>(&node)?;
    let owner = s.a.ledger.get::<gantry_market::state::Provider>(&found.provider)?.wallet;
    let to = |status| Step::Send(vec![ix::node_offer(&owner, &node, found, found.price, status)]);
    Some(vec![to(gantry_market::state::NODE_HIBERNATED), to(NODE_ACTIVE)])
}

/// An order that the node would get, if it may.
fn sold(s: &mut Scene, node: Address) -> Option<Plan> {
    let Some(mut job) = Job::on(s, node) else { return Some(vec![]) };
    if s.once_in(3) {
        job.args.requirement.min_operations = 100 * s.below(30) as u32;
    }
    let mut plan = job.ordered(s)?;
    plan.extend(job.awarded(s)?);
    plan.push(Step::Send(vec![ix::order_cancel(&s.a.actors[job.who], &job.order)]));
    Some(plan)
}

/// Keepers say that the machine is of its class, by figures that are enough or too little.
fn appealed(s: &mut Scene, node: Address) -> Option<Plan> {
    let found = *s.a.ledger.get::<Node>(&node)?;
    let fault = s.any_where::<gantry_market::state::Fault>(|fault| {
        fault.node == node && fault.flags & gantry_market::constants::FLAG_SLOW != 0
    });
    let (at, fault) = fault?;
    let tenths = [10, 7, 6, 6][s.below(4)];
    let of = |asked: u32| u32::try_from(u64::from(asked) * tenths / 10).unwrap_or(u32::MAX);
    let figures = (of(found.min_operations), of(found.min_bandwidth));
    let text = leaves::measured(&node, fault.period, 3, figures);
    let mut plan = vec![];
    for keeper in KEEPERS {
        let who = &s.a.actors[keeper];
        s.a.ledger.held(&who.keeper())?;
        plan.push(Step::Send(vec![signed(&who.key, &text), ix::slash_appeal(&s.a.w, &at, who, text)]));
    }
    Some(plan)
}
