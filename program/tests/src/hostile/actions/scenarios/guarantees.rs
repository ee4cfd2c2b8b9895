use gantry_market::constants::{FLAG_WORK_FAILED, GUARANTEE_BPS_MIN};
use gantry_market::state::{Fault, Lease, Node, Provider, NODE_ACTIVE, NODE_SUSPENDED};
use solana_address::Address;

use super::{market, offered, recovered, reported, usable, Job};
use crate::hostile::actions::guaranteed_leases;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix;
use crate::leaves::LeafData;

/// A guarantee from its first second to its end: kept or broken, with a suspension or without one.
pub fn settled(s: &mut Scene) -> Option<Scenario> {
    let nodes: Vec<Address> =
        s.a.ledger
            .all::<Node>()
            .filter(|(_, node)| usable(s, node) && !node.is_guaranteed())
            .map(|(at, _)| *at)
            .collect();
    // Where all guarantee something, what is over is settled first.
    let Some(node) = s.one(nodes) else { return ended(s) };
    let mut job = Job::on(s, node)?;
    job.args.duration_secs = 60;
    let (keeps, early, suspended) = (s.once_in(2), s.once_in(2), s.once_in(2));
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| committed(s, &node))
            .then_if(s.once_in(2), move |s| shortened(s, &node))
            // The period in which it was made does not count.
            .then_if(early, move |s| leaf_about(s, &node, false, 0))
            .then(move |s| leaf_about(s, &node, keeps, 0))
            .then_if(s.once_in(2), move |s| leaf_about(s, &node, keeps, 0))
            .then_if(suspended, move |s| leaf_about(s, &node, keeps, FLAG_WORK_FAILED))
            .then_if(suspended, move |s| slashed(s, &node))
            .then_if(suspended, recovered)
            .then_if(suspended, move |s| returned(s, &node))
            .then(move |s| over(s, &node, &job))
            .then(move |s| job.awarded(s))
            .then(move |s| settle(s, &node)),
    )
}

/// A machine with a guarantee is away for most of it, and its provider keeps what it has earned from being paid until the
/// guarantee is resolved.
pub fn hidden(s: &mut Scene) -> Option<Scenario> {
    let nodes = s.a.ledger.all::<Node>();
    let free: Vec<Address> =
        nodes.filter(|(_, node)| usable(s, node) && !node.is_guaranteed()).map(|(at, _)| *at).collect();
    let node = s.one(free)?;
    let mut job = Job::on(s, node)?;
    (job.args.max_price, job.args.duration_secs) = (1_000_000_000, 1_200);
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| committed(s, &node))
            .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
            .then(move |s| Some(vec![offered(s, &node, 1_000_000_000)?]))
            .then(move |s| job.ordered(s))
            .then(move |s| job.started(s))
            .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
            .then(move |s| {
                s.a.ledger.get::<Lease>(&job.lease)?;
                let period = s.a.w.period();
                let up =
                    LeafData { up_secs: 30, verified_secs: 30, ..s.a.w.good_leaf(node, job.lease, period) };
                reported(s, period, &[up], &[0])
            })
            .then(move |s| settle(s, &node)),
    )
}

/// The guarantee that ends first, to its end.
fn ended(s: &mut Scene) -> Option<Scenario> {
    let committed = s.a.ledger.all::<Node>().filter(|(_, node)| node.is_guaranteed());
    let node = *committed.min_by_key(|(_, node)| node.guaranteed_until)?.0;
    Some(
        Scenario::default()
            .then(move |s| Some(slashed(s, &node).unwrap_or_default()))
            .then(move |s| settle(s, &node)),
    )
}

fn owner(s: &Scene, node: &Node) -> Option<usize> {
    let wallet = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    s.a.actors.iter().position(|actor| actor.wallet() == wallet)
}

/// The shortest there is and a little more.
fn committed(s: &mut Scene, node: &Address) -> Option<Plan> {
    let state = *s.a.ledger.get::<Node>(node).filter(|node| node.status == NODE_ACTIVE)?;
    let who = owner(s, &state)?;
    let params = market(s)?.params;
    let until = s.a.now()
        + i64::from(params.unstake_cooldown_secs.max(2 * params.period_secs))
        + i64::from(params.period_secs)
        + s.r.below(120) as i64;
    let guarantee = GUARANTEE_BPS_MIN + s.below(1_000) as u16;
    Some(vec![Step::Send(vec![ix::node_guarantee(&s.a.actors[who], node, until, guarantee)])])
}

/// Less than was guaranteed, though long enough for a guarantee of its own.
fn shortened(s: &mut Scene, node: &Address) -> Option<Plan> {
    let state = *s.a.ledger.get::<Node>(node).filter(|node| node.is_guaranteed())?;
    let who = owner(s, &state)?;
    let (until, guarantee) = if s.once_in(2) {
        (state.guaranteed_until - 1 - s.r.below(30) as i64, state.guarantee_bps)
    } else {
        (state.guaranteed_until, GUARANTEE_BPS_MIN)
    };
    Some(vec![Step::Send(vec![ix::node_guarantee(&s.a.actors[who], node, until, guarantee)])])
}

/// The period that runs ends, and a report says how long the machine was up.
fn leaf_about(s: &mut Scene, node: &Address, up: bool, flags: u16) -> Option<Plan> {
    s.a.ledger.get::<Node>(node)?;
    let period = s.a.w.period();
    let length = market(s)?.params.period_secs;
    let up_secs = if up { length } else { s.r.below(u64::from(length) / 2) as u32 };
    let leaf = LeafData { up_secs, flags, ..s.a.w.good_leaf(*node, Address::default(), period) };
    reported(s, period, &[leaf], &[0])
}

/// What a failed measurement costs, when its time has come.
fn slashed(s: &mut Scene, node: &Address) -> Option<Plan> {
    let (at, fault) = s.any_where::<Fault>(|fault| fault.node == *node)?;
    let payer = s.actor().wallet();
    let wait = (fault.applicable_at - s.a.now()).max(1);
    Some(vec![Step::Warp(wait), Step::Send(vec![ix::slash_apply_by(&s.a.w, &payer, &at)])])
}

fn returned(s: &mut Scene, node: &Address) -> Option<Plan> {
    let state = *s.a.ledger.get::<Node>(node)?;
    if state.status != NODE_SUSPENDED {
        return Some(vec![]);
    }
    Some(vec![offered(s, node, state.price)?])
}

/// Its last second passes; whoever settles it now is too early. The guarantee counts for nothing any more.
fn over(s: &mut Scene, node: &Address, job: &Job) -> Option<Plan> {
    let until = s.a.ledger.get::<Node>(node).filter(|node| node.is_guaranteed())?.guaranteed_until;
    let wait = (until - s.a.now()).max(0) + s.r.below(20) as i64;
    let finder = s.actor();
    let early = ix::guarantee_resolve(&s.a.w, finder, node);
    let mut plan = vec![Step::Warp(wait), Step::Send(vec![early])];
    plan.extend(job.ordered(s)?);
    Some(plan)
}

/// All reports had their time. Nobody settles twice.
fn settle(s: &mut Scene, node: &Address) -> Option<Plan> {
    let until = s.a.ledger.get::<Node>(node).filter(|node| node.is_guaranteed())?.guaranteed_until;
    let params = market(s)?.params;
    let due = until + i64::from(params.settle_deadline_secs().ok()?) + i64::from(params.appeal_secs);
    let finder = s.actor();
    let leases = guaranteed_leases(&s.a.ledger, node, until);
    let some = if s.once_in(4) { leases.len() / 2 } else { leases.len() };
    let settle = Step::Send(vec![ix::guarantee_resolve_of(&s.a.w, finder, node, &leases[..some])]);
    // One that lasts very long would be all of the scenario.
    let wait = (due - s.a.now()).max(0);
    Some(if wait > 10_000 { vec![settle] } else { vec![Step::Warp(wait), settle.clone(), settle] })
}
