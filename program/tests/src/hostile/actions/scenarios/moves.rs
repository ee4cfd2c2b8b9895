use gantry_market::constants::FLAG_OFFLINE;
use gantry_market::state::{Lease, Node, LEASE_FAILED, LEASE_RUNNING};
use solana_address::Address;

use super::{offered, recovered, reported, usable, Job};
use crate::hostile::harness::KEEPERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::leaves::LeafData;
use crate::{ix, pda};

/// A job puts down a checkpoint, its machine goes away, and a keeper moves it to another, which may be dearer.
pub fn moved(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    Some(
        job.begins()
            .then(move |s| marked(s, &job))
            .then(move |s| failed(s, &job))
            .then(recovered)
            .then(move |s| gone_on(s, &job)),
    )
}

fn marked(s: &mut Scene, job: &Job) -> Option<Plan> {
    s.a.ledger.get::<Lease>(&job.lease).filter(|lease| lease.status == LEASE_RUNNING)?;
    let hash = s.r.bytes();
    Some(vec![Step::Send(vec![ix::lease_checkpoint(&s.a.w, &job.lease, hash)])])
}

/// Keepers have not seen it for most of a period.
fn failed(s: &mut Scene, job: &Job) -> Option<Plan> {
    let lease = s.a.ledger.get::<Lease>(&job.lease).filter(|lease| lease.status == LEASE_RUNNING)?;
    let period = s.a.w.period();
    let gone = LeafData {
        flags: FLAG_OFFLINE,
        up_secs: 10,
        verified_secs: s.below(10) as u32,
        downtime_secs: 50,
        ..s.a.w.good_leaf(lease.node, job.lease, period)
    };
    reported(s, period, &[gone], &[0])
}

fn gone_on(s: &mut Scene, job: &Job) -> Option<Plan> {
    let lease = *s.a.ledger.get::<Lease>(&job.lease).filter(|lease| lease.status == LEASE_FAILED)?;
    let others: Vec<(Address, Node)> =
        s.a.ledger
            .all::<Node>()
            .filter(|(at, node)| usable(s, node) && **at != lease.node)
            .map(|(at, node)| (*at, *node))
            .collect();
    let (node, machine) = s.one(others)?;
    let price = if s.once_in(2) { lease.price + 1 + s.r.below(1_000_000) } else { lease.price };
    let keeper = s.actor_of(&KEEPERS);
    let moved = pda::lease(&job.lease, &node);
    Some(vec![
        offered(s, &node, price)?,
        Step::Send(vec![ix::lease_migrate(&s.a.w, keeper, &job.lease, &node)]),
        Step::Send(vec![ix::lease_start_of(&machine.node_key, &lease.order, &moved)]),
    ])
}
