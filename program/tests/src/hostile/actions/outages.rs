use gantry_market::constants::{OUTAGE_MAX_SECS, OUTAGE_MOVE_SECS, OUTAGE_SECS, OUTAGE_VOTE_SECS};
use gantry_market::state::{Keeper, Lease, Node, Outage, KEEPER_ACTIVE, LEASE_RUNNING, NODE_ACTIVE};

use crate::hostile::harness::KEEPERS;
use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// A node falls silent. Most keepers vote, some twice, some wrongly, and its lease often moves at once.
pub fn outage_vote(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(8);
    let running = |lease: &Lease| lease.status == LEASE_RUNNING && (any || lease.may_migrate == 1);
    let (at, lease) = s.any_where::<Lease>(running)?;
    let silent = s.a.now();
    let mut plan = vec![];
    if !s.once_in(10) {
        plan.push(Step::Warp(OUTAGE_SECS + s.below(10) as i64));
    }
    let voters: Vec<_> =
        s.a.ledger
            .all::<Keeper>()
            .map(|(_, keeper)| (keeper.wallet, keeper.status == KEEPER_ACTIVE))
            .collect();
    for (wallet, active) in voters {
        if (!active && !s.once_in(6)) || s.once_in(12) {
            continue;
        }
        let keeper = s.who(&wallet)?;
        let last_answer = match s.below(16) {
            0 => silent - s.r.below(2 * OUTAGE_MAX_SECS as u64) as i64,
            1 => silent + s.below(20) as i64,
            2 => i64::MIN,
            3 => i64::MAX,
            _ => silent,
        };
        plan.push(Step::Send(vec![ix::outage_vote(keeper, &lease.node, last_answer)]));
        if s.once_in(8) {
            plan.push(Step::Send(vec![ix::outage_vote(keeper, &lease.node, silent)]));
        }
        if s.once_in(15) {
            plan.push(Step::Warp(1 + s.below(OUTAGE_VOTE_SECS as usize) as i64));
        }
    }
    let keeper = s.actor_of(&KEEPERS);
    plan.push(Step::Send(vec![ix::lease_outage(&s.a.w, keeper, &at)]));
    let other = s.any_where::<Node>(|node| node.status == NODE_ACTIVE && node.free_gpus() >= lease.gpus);
    if let Some((node, machine)) = other.filter(|(node, _)| *node != lease.node) {
        let keeper = s.actor_of(&KEEPERS);
        plan.push(Step::Send(vec![ix::lease_migrate(&s.a.w, keeper, &at, &node)]));
        let moved = pda::lease(&at, &node);
        plan.push(Step::Send(vec![ix::lease_start_of(&machine.node_key, &lease.order, &moved)]));
    }
    if s.once_in(2) {
        plan.push(Step::Warp(OUTAGE_MOVE_SECS + 1));
        plan.push(Step::Send(vec![ix::outage_close_of(&lease.node, &s.actor_of(&KEEPERS).wallet())]));
    }
    Some(plan)
}

/// Whether or not an outage stands.
pub fn lease_outage(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let nodes: Vec<_> = s.a.ledger.all::<Outage>().map(|(_, outage)| outage.node).collect();
    let (at, _) = s.any_where::<Lease>(|lease| any || nodes.contains(&lease.node))?;
    let keeper = s.actor_of(&KEEPERS);
    s.a.ledger.get::<Node>(&s.a.ledger.get::<Lease>(&at)?.node)?;
    one(ix::lease_outage(&s.a.w, keeper, &at))
}

pub fn outage_close(s: &mut Scene) -> Option<Plan> {
    let (_, outage) = s.any_where::<Outage>(|_| true)?;
    let wrong = s.once_in(10);
    let to = if wrong { s.actor().wallet() } else { outage.rent_payer };
    one(ix::outage_close_of(&outage.node, &to))
}
