use gantry_market::constants::EVIDENCE_SECS;
use gantry_market::state::{Node, NODE_RETIRED};
use solana_address::Address;
use solana_signer::Signer;

use super::{joined, market, offered, recovered, reported, usable, Job};
use crate::hostile::actions::providers::{devices_of, gpu_keys, holders_of, number_of};
use crate::hostile::harness::{MACHINES, TWINS};
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::leaves::{evidence_hash, LeafData};
use crate::testbed::key;
use crate::{ix, pda};

/// Where a machine's node is, and its place among the machines.
fn place(s: &Scene, number: u64) -> Option<(usize, Address)> {
    let at = MACHINES.iter().position(|(_, machine, _)| *machine == number)?;
    Some((at, pda::node(&s.a.actors[MACHINES[at].0].provider(), &key(number).pubkey())))
}

/// Two machines say that they have the same GPUs, and keepers find evidence for each of them.
pub fn taken(s: &mut Scene) -> Option<Scenario> {
    let (twin, of) = TWINS[s.below(TWINS.len())];
    let ((_, one), (number, other)) = (place(s, of)?, place(s, twin)?);
    let gone = |node: &Node| node.status == NODE_RETIRED || node.spec.simulated == 1;
    if s.a.ledger.get::<Node>(&one).is_none_or(gone) || s.a.ledger.get::<Node>(&other).is_some_and(gone) {
        return None;
    }
    let job = Job::on(s, other)?;
    let tiers = [[3, 2], [2, 3], [2, 2]][s.below(3)];
    let turned = s.once_in(2);
    let stale = s.once_in(3);
    let order = if turned { [other, one] } else { [one, other] };
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| joined(s, number, of))
            .then(move |s| Some(vec![offered(s, &one, 1_000_000)?, offered(s, &other, 1_000_000)?]))
            .then(move |s| job.ordered(s))
            .then(move |s| job.awarded(s))
            // The period in which it registered says nothing about it.
            .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
            .then(move |s| found(s, [one, other], tiers))
            .then_if(stale, |_| Some(vec![Step::Warp(EVIDENCE_SECS + 120)]))
            .then(move |s| Some(shown(s, &order[0]).into_iter().collect()))
            .then(move |s| Some(shown(s, &order[1]).into_iter().collect())),
    )
}

/// A report that gives each node a tier for the devices that it registered.
fn found(s: &mut Scene, nodes: [Address; 2], tiers: [u8; 2]) -> Option<Plan> {
    let period = s.a.w.period();
    let mut leaves = vec![];
    for (node, tier) in nodes.into_iter().zip(tiers) {
        let state = *s.a.ledger.get::<Node>(&node)?;
        let (device_root, gpus) = (state.device_root, state.spec.gpus);
        let evidence_hash = evidence_hash([8; 32], &gpu_keys(number_of(&state)?, gpus)[..usize::from(gpus)]);
        let leaf = s.a.w.good_leaf(node, Address::default(), period);
        leaves.push(LeafData { tier, device_root, evidence_hash, ..leaf });
    }
    reported(s, period, &leaves, &[0, 1])
}

/// What was found becomes the node's claims.
fn shown(s: &mut Scene, at: &Address) -> Option<Step> {
    let node = *s.a.ledger.get::<Node>(at)?;
    let devices = devices_of(&node)?;
    let holders = holders_of(s, at, &devices, node.spec.gpus);
    let payer = s.actor().wallet();
    let mut send = vec![ix::node_set_evidence(&payer, at, devices, node.spec.gpus, &holders)];
    if node.tier == 3 {
        let keys = gpu_keys(number_of(&node)?, node.spec.gpus);
        send.insert(0, ix::node_set_keys(&payer, at, keys, node.spec.gpus));
    }
    Some(Step::Send(send))
}

/// Two periods about which keepers say different things, applied in the wrong order.
pub fn overtaken(s: &mut Scene) -> Option<Scenario> {
    let nodes: Vec<Address> =
        s.a.ledger.all::<Node>().filter(|(_, node)| usable(s, node)).map(|(at, _)| *at).collect();
    let node = s.one(nodes)?;
    Some(Scenario::default().then(recovered).then(move |s| {
        let (period, length) = (s.a.w.period(), i64::from(market(s)?.params.period_secs));
        let root = s.a.ledger.get::<Node>(&node)?.device_root;
        let leaf = |s: &Scene, period, tier| LeafData {
            tier,
            device_root: root,
            evidence_hash: [tier; 32],
            ..s.a.w.good_leaf(node, Address::default(), period)
        };
        let (old, new) = (leaf(s, period, 3), leaf(s, period + 1, 1));
        let mut plan = vec![Step::Warp((period as i64 + 2) * length - s.a.now())];
        let warped = |plan: Plan| plan.into_iter().filter(|step| !matches!(step, Step::Warp(_)));
        plan.extend(warped(reported(s, period + 1, &[new], &[0])?));
        plan.extend(warped(reported(s, period, &[old], &[0])?));
        Some(plan)
    }))
}
