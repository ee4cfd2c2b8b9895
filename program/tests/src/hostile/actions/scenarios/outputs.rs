use gantry_market::state::Node;
use solana_address::Address;

use super::{recovered, usable, Job};
use crate::hostile::harness::KEEPERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// One machine's part: its lease, its node, its key, its output.
pub(super) type Part = (Address, Address, Address, [u8; 32]);

/// A redundant job on three machines; one of them shows another output than it committed to.
pub fn compared(s: &mut Scene) -> Option<Scenario> {
    let mut nodes: Vec<(Address, Address)> =
        s.a.ledger
            .all::<Node>()
            .filter(|(_, node)| usable(s, node))
            .map(|(at, node)| (*at, node.node_key))
            .collect();
    let mut job = Job::any(s)?;
    (job.args.nodes, job.args.redundant) = (3, 1);
    (job.args.run_to_completion, job.args.no_migration) = (1, 1);
    let agree = s.once_in(2);
    let mut parts: Vec<Part> = vec![];
    while parts.len() < 3 && !nodes.is_empty() {
        let at = s.below(nodes.len());
        let (node, key) = nodes.swap_remove(at);
        // All agree, or none does.
        let output = if agree { [9; 32] } else { [10 + parts.len() as u8; 32] };
        parts.push((pda::lease(&job.order, &node), node, key, output));
    }
    if parts.len() < 3 {
        return None;
    }
    let [awarded, committed, shown] = [parts.clone(), parts.clone(), parts];
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| job.ordered(s))
            .then(move |s| all_start(s, &job, &awarded))
            .then(move |_| Some(all_commit(&job, &committed)))
            .then(move |s| all_show(s, &job, &shown)),
    )
}

pub(super) fn all_start(s: &mut Scene, job: &Job, parts: &[Part]) -> Option<Plan> {
    let customer = &s.a.actors[job.who];
    let mut plan = vec![];
    for (_, node, _, _) in parts {
        let keeper = s.actor_of(&KEEPERS);
        let provider = s.a.ledger.get::<Node>(node)?.provider;
        plan.push(Step::Send(vec![ix::order_award(keeper, customer, &job.order, &provider, node)]));
    }
    plan.extend(
        parts.iter().map(|(lease, _, key, _)| Step::Send(vec![ix::lease_start_of(key, &job.order, lease)])),
    );
    Some(plan)
}

pub(super) fn all_commit(job: &Job, parts: &[Part]) -> Plan {
    let commit = |(lease, _, key, output): &Part| {
        let hidden = ix::output_commitment(lease, output, &lease.to_bytes());
        Step::Send(vec![ix::output_commit_of(key, &job.order, lease, hidden)])
    };
    parts.iter().map(commit).collect()
}

/// The wrong output first; the right one after it.
fn all_show(s: &mut Scene, job: &Job, parts: &[Part]) -> Option<Plan> {
    let wrong = parts[s.below(parts.len())];
    let show = |(lease, _, key, _): &Part, output| {
        Step::Send(vec![ix::output_reveal_of(key, &job.order, lease, output, lease.to_bytes())])
    };
    let mut plan = vec![show(&wrong, [7; 32])];
    plan.extend(parts.iter().map(|part| show(part, part.3)));
    let all: Vec<Address> = parts.iter().map(|(lease, _, _, _)| *lease).collect();
    plan.push(Step::Send(vec![ix::output_resolve(&job.order, &all)]));
    Some(plan)
}
