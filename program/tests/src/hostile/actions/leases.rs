use gantry_market::constants::MODE_INSTANT;
use gantry_market::state::{
    Lease, Node, Order, Provider, DECLINED_JOB, DECLINED_PRICE, LEASE_AWARDED, LEASE_ENDED, LEASE_RUNNING,
    NODE_ACTIVE, ORDER_AWARDED, ORDER_LAPSED, ORDER_OPEN,
};
use solana_address::Address;

use crate::hostile::harness::KEEPERS;
use crate::hostile::scene::{one, send, Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::{ix, pda};

pub fn order_award(s: &mut Scene) -> Option<Plan> {
    let now = s.a.now();
    let any = s.once_in(10);
    let (order, state) = s.any_where::<Order>(|order| {
        let waits = order.status == ORDER_OPEN && order.award_deadline >= now;
        any || (waits && order.mode == MODE_INSTANT)
    })?;
    let last = state.nodes_awarded + 1 == state.nodes_wanted;
    award_of(s, &order, &state.customer, &Wanted::by(&state), last)
}

/// An award to a node that may suit, often followed by the start.
pub fn award_of(
    s: &mut Scene,
    order: &Address,
    customer: &Address,
    wanted: &Wanted,
    last: bool,
) -> Option<Plan> {
    let any = s.once_in(10);
    let keeper = s.actor_of(&KEEPERS);
    let customer = s.who(customer)?;
    let a = s.a;
    let suits = |node: &Node| Scene::fits(a, node, wanted);
    let (node, machine) = s.any_where::<Node>(|node| any || suits(node))?;
    let award = ix::order_award(keeper, customer, order, &machine.provider, &node);
    let mut plan = vec![Step::Send(vec![award])];
    if last && !s.once_in(4) {
        // The usual builder reads the lease, which is not there yet.
        plan.push(Step::Send(vec![ix::lease_start_of(&machine.node_key, order, &pda::lease(order, &node))]));
    }
    Some(plan)
}

pub fn lease_start(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let ledger = &s.a.ledger;
    let whole = |lease: &Lease| {
        let order = ledger.get::<Order>(&lease.order);
        order.is_some_and(|order| matches!(order.status, ORDER_AWARDED | ORDER_LAPSED))
    };
    let (at, _) = s.any_where::<Lease>(|lease| lease.status == LEASE_AWARDED && (any || whole(lease)))?;
    one(ix::lease_start(&s.a.w, &at, [3; 32]))
}

pub fn lease_abort(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(4), s.a.now());
    let wait = i64::from(s.a.w.params.start_deadline_secs);
    let late = |lease: &Lease| lease.status == LEASE_AWARDED && now > lease.awarded_at + wait;
    let (at, lease) = s.any_where::<Lease>(|lease| any || late(lease))?;
    s.a.ledger.get::<Order>(&lease.order)?;
    one(ix::lease_abort(&s.a.w, &at))
}

pub fn lease_decline(s: &mut Scene) -> Option<Plan> {
    let (any, now, ledger) = (s.once_in(4), s.a.now(), &s.a.ledger);
    let in_time = |lease: &Lease| {
        let order = ledger.get::<Order>(&lease.order);
        order.is_some_and(|order| now <= order.awarded_at.max(lease.awarded_at) + i64::from(order.start_secs))
    };
    let (at, lease) =
        s.any_where::<Lease>(|lease| any || (lease.status == LEASE_AWARDED && in_time(lease)))?;
    s.a.ledger.get::<Order>(&lease.order)?;
    let reason = if lease.repriced == 1 { DECLINED_PRICE } else { DECLINED_JOB };
    one(ix::lease_decline(&s.a.w, &at, reason))
}

pub fn lease_extend(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(4), s.a.now());
    let runs = |lease: &Lease| lease.status == LEASE_RUNNING && now < lease.funded_until;
    let (at, lease) = s.any_where::<Lease>(|lease| any || runs(lease))?;
    let seconds = if s.once_in(10) { s.r.u32() } else { 1 + s.below(300) as u32 };
    let extend = ix::lease_extend(&s.a.w, &at, seconds);
    one(super::customers::by_someone(s, extend, &lease.customer))
}

/// Signed by both; now and then by others, or of time that has not passed.
pub fn lease_settle_receipt(s: &mut Scene) -> Option<Plan> {
    let (at, lease) = s.any_where::<Lease>(|lease| lease.status >= LEASE_RUNNING)?;
    s.a.ledger.get::<Provider>(&lease.provider)?;
    if lease.status == LEASE_RUNNING && s.once_in(8) {
        // A second more than was funded, when so much has passed.
        let (node, customer) = (s.key(&lease.node_key)?, s.key(&lease.customer)?);
        let wait = (lease.funded_until - s.a.now()).clamp(0, 900) + 2;
        let funded = u32::try_from(lease.funded_until - lease.started_at).ok()?;
        let seconds = funded.saturating_add(1).saturating_sub(lease.downtime_secs);
        let receipt = ix::receipt(&s.a.w, &at, node, customer, lease.receipt_sequence + 1, seconds);
        return Some(vec![Step::Warp(wait), Step::Send(receipt.into_iter().collect())]);
    }
    let most = lease.billable_secs(s.a.now());
    let seconds = match s.below(6) {
        0 => most,
        1 => most.saturating_add(1 + s.below(3) as u32),
        2 => lease.paid_secs,
        _ => lease.paid_secs.saturating_add(s.below(60) as u32).min(most),
    };
    let sequence = lease.receipt_sequence.saturating_add(1).saturating_sub(u64::from(s.once_in(8)));
    let (mut node, mut customer) = (s.key(&lease.node_key)?, s.key(&lease.customer)?);
    match s.below(12) {
        0 => node = &s.actor().key,
        1 => customer = &s.actor().key,
        2 => customer = node,
        _ => {}
    }
    send(ix::receipt(&s.a.w, &at, node, customer, sequence, seconds))
}

pub fn lease_settle_report(s: &mut Scene) -> Option<Plan> {
    let (at, lease) = s.any_where::<Lease>(|lease| lease.status >= LEASE_RUNNING)?;
    s.a.ledger.get::<Provider>(&lease.provider)?;
    one(ix::lease_settle_report(&s.a.w, &at))
}

pub fn lease_end(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(3);
    let lives = |lease: &Lease| lease.status == LEASE_RUNNING || (any && lease.status != LEASE_ENDED);
    let (at, lease) = s.any_where::<Lease>(lives)?;
    let owner = s.a.ledger.get::<Provider>(&lease.provider)?.wallet;
    let by = match s.below(4) {
        0 => lease.customer,
        1 => owner,
        2 => lease.node_key,
        _ => s.actor().wallet(),
    };
    let immediate = s.below(2) as u8;
    one(ix::lease_end(&s.a.w, &by, &at, immediate))
}

pub fn lease_checkpoint(s: &mut Scene) -> Option<Plan> {
    let (at, _) = s.any_where::<Lease>(|lease| lease.status == LEASE_RUNNING)?;
    let hash = s.r.bytes();
    one(ix::lease_checkpoint(&s.a.w, &at, hash))
}

/// A failed lease goes to another machine, which often starts at once.
pub fn lease_migrate(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(60);
    let (failed, lease) = s.any_where::<Lease>(|lease| any || lease.can_migrate().unwrap_or(false))?;
    let keeper = s.actor_of(&KEEPERS);
    let dear = s.once_in(4);
    let (node, machine) = s.any_where::<Node>(|node| {
        let suits = node.status == NODE_ACTIVE && node.free_gpus() >= lease.gpus;
        any || (suits && (dear || node.price <= lease.price))
    })?;
    if node == lease.node {
        return None;
    }
    let migrate = Step::Send(vec![ix::lease_migrate(&s.a.w, keeper, &failed, &node)]);
    let start = ix::lease_start_of(&machine.node_key, &lease.order, &pda::lease(&lease.order, &node));
    Some(vec![migrate, Step::Send(vec![start])])
}

pub fn lease_rate(s: &mut Scene) -> Option<Plan> {
    let (at, lease) = s.any_where::<Lease>(|lease| lease.status == LEASE_ENDED)?;
    s.a.ledger.get::<Node>(&lease.node)?;
    let stars = 1 + s.below(6) as u8;
    one(ix::lease_rate(&s.a.w, &at, stars))
}

pub fn lease_close(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let (at, lease) = s.any_where::<Lease>(|lease| any || lease.status == LEASE_ENDED)?;
    let by = if s.once_in(2) { lease.customer } else { s.actor().wallet() };
    s.a.ledger.get::<Order>(&lease.order)?;
    one(ix::lease_close(&s.a.w, &by, &at))
}
