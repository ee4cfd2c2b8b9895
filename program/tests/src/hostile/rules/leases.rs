//! Leases: what was awarded stays, time is paid once, nobody is cheated out of the rest.

use gantry_market::constants::{MODE_SEALED, SPOT_NOTICE_SECS};
use gantry_market::instructions::lease::lease_settle_receipt::receipt_message;
use gantry_market::math::pricing::cost;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{
    GpuModel, Keeper, Lease, Market, Node, Order, Provider, KEEPER_ACTIVE, LEASE_AWARDED, LEASE_ENDED,
    LEASE_FAILED, LEASE_RUNNING, NODE_ACTIVE, ORDER_AWARDED, ORDER_EXPIRED, ORDER_LAPSED, ORDER_OPEN,
};

use super::{must, Act, Change, Verdict};

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Lease>() {
        if let Some(lease) = change.created() {
            awarded(act, market, &change, lease)?;
        }
        if let Some((before, after)) = change.both() {
            kept(act, &change, before, after)?;
            time(act, &change, before, after)?;
            ended(act, market, &change, before, after)?;
        }
        if let Some(lease) = change.closed() {
            closed(act, &change, lease)?;
        }
    }
    Ok(())
}

fn awarded(act: &Act, market: &Market, change: &Change<Lease>, lease: &Lease) -> Verdict {
    let at = change.at;
    let found = act.ledger.get::<Order>(&lease.order).zip(act.ledger.get::<Node>(&lease.node));
    must!(found.is_some(), "a lease is of an order and a node", "{at}");
    let (order, node) = found.expect("just checked");
    let from =
        act.changes::<Lease>().filter_map(|other| other.both()).find(|(other, _)| other.order == lease.order);
    let moved = from.filter(|_| lease.continues == 1);
    must!(lease.continues == 0 || moved.is_some(), "what continues has failed before", "{at}");
    must!(market.paused & 2 == 0, "no awards while paused", "{at}");
    let keepers = act.ledger.all::<Keeper>();
    let awards =
        |k: &Keeper| k.wallet == lease.keeper && k.signer == lease.rent_payer && k.status == KEEPER_ACTIVE;
    let by_keeper = keepers.filter(|(_, k)| awards(k)).count() == 1;
    must!(by_keeper && act.signed(&lease.rent_payer), "the signer of an active keeper awards", "{at}");
    let waits = order.status == ORDER_OPEN && act.now <= order.award_deadline;
    must!(waits || moved.is_some(), "an open order is awarded in time", "{at}");
    if let Some((failed, ended)) = moved {
        let over = failed.status == LEASE_FAILED && ended.status == LEASE_ENDED && failed.may_migrate == 1;
        must!(over, "a failed lease moves", "{at}");
        let rest = failed.undelivered_secs().ok();
        must!(
            rest == Some(lease.duration_secs) && lease.duration_secs > 0,
            "what is left moves",
            "{at}: {rest:?}"
        );
        must!(lease.price <= failed.price, "a move is not dearer", "{at}");
        must!(lease.failed_at == failed.ended_at, "a move knows when its lease had failed", "{at}");
        must!(lease.checkpoint_hash == failed.checkpoint_hash, "a move takes its checkpoint along", "{at}");
    } else {
        must!(lease.duration_secs == order.duration_secs, "a lease lasts as long as ordered", "{at}");
    }
    must!(node.status == NODE_ACTIVE, "only active nodes are awarded", "{at}");
    must!(node.claims_missing == 0, "a node without its claims gets no work", "{at}");
    must!(
        lease.customer == order.customer && lease.provider == node.provider,
        "a lease names its parties",
        "{at}"
    );
    // What an auction's award costs is in the rules about auctions.
    let sealed = act.name == "auction_award";
    must!(
        (sealed || lease.price == ask(node, order)) && (1..=order.max_price).contains(&lease.price),
        "the ask is the price",
        "{at}"
    );
    let by_mode = moved.is_some() || sealed == (order.mode == MODE_SEALED);
    must!(
        by_mode && (!sealed || moved.is_none()),
        "a sealed order is awarded by its bids",
        "{}: {at}",
        act.name
    );
    let end = if moved.is_some() {
        act.now + i64::from(order.start_secs) + i64::from(lease.duration_secs)
    } else {
        order.latest_end().expect("fits")
    };
    let guarantee = node.record(act.now).guarantee.bps_until(end);
    let best = score(lease.price, reputation_bps(node, act.now), guarantee).ok();
    must!(best == Some(lease.score), "a lease keeps its score", "{at}: {} and {best:?}", lease.score);
    let held = if moved.is_some() { 0 } else { order.start_secs };
    let reserved = cost(lease.price, lease.gpus, lease.duration_secs.max(held)).ok();
    must!(reserved == Some(lease.reserved), "a lease holds what it costs", "{at}");
    must!(
        lease.gpus == order.gpus_per_node && node.gpu_mask & lease.gpu_mask == 0,
        "free GPUs are leased",
        "{at}"
    );
    must!(lease.gpu_mask.count_ones() == u32::from(lease.gpus), "a lease has its GPUs", "{at}");
    must!(node.covered(), "stake covers every machine that works", "{at}");
    let model =
        act.ledger.all::<GpuModel>().find(|(_, model)| model.id == node.spec.model).map(|(_, model)| model);
    let site = if order.nodes_awarded == 0 { &node.spec.site } else { &order.site };
    let (named, model_of) = (order.requirement.models, node.spec.model);
    must!(named[0] == 0 || named.contains(&model_of), "a lease has a model that its order names", "{at}");
    let suits = model.is_some_and(|model| {
        order
            .requirement
            .satisfied_by(node, model, order.gpus_per_node, site, &node.record(act.now), act.now, end)
            .is_ok()
    });
    must!(suits, "the node satisfies the order", "{at}");
    let short = if order.interruptible == 1 { SPOT_NOTICE_SECS } else { u32::MAX };
    let terms = (lease.fee_bps, lease.notice_secs, lease.interruptible)
        == (market.params.fee_bps, market.params.notice_secs.min(short), order.interruptible);
    must!(terms, "a lease takes the market's terms", "{at}");
    Ok(())
}

/// What a node asks of an order: its price, or of interruptible work a part of it.
pub fn ask(node: &Node, order: &Order) -> u64 {
    let part = if order.interruptible == 1 { node.spot_bps } else { 10_000 };
    (u128::from(node.price) * u128::from(part) / 10_000) as u64
}

fn kept(act: &Act, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    let at = change.at;
    // What a proof of an unjust award changes is in the rules about proofs.
    let proven = matches!(act.name, "prove_better_ask" | "prove_omitted_bid");
    let same = (before.order, before.node, before.provider, before.customer, before.keeper)
        == (after.order, after.node, after.provider, after.customer, after.keeper)
        && (before.node_key, before.gpus, before.gpu_mask, before.fee_bps)
            == (after.node_key, after.gpus, after.gpu_mask, after.fee_bps)
        && (proven || (before.price, before.award_bps) == (after.price, after.award_bps))
        && (proven || (before.repriced_secs, before.repriced) == (after.repriced_secs, after.repriced))
        && (proven || (before.score, before.unjust_due) == (after.score, after.unjust_due))
        && (before.award_price, before.award_score, before.failed_at)
            == (after.award_price, after.award_score, after.failed_at)
        && (before.notice_secs, before.settle_secs, before.rating_secs, before.awarded_at)
            == (after.notice_secs, after.settle_secs, after.rating_secs, after.awarded_at)
        && (before.grace_secs, before.challenge_until, before.interruptible)
            == (after.grace_secs, after.challenge_until, after.interruptible)
        && (before.forfeit, before.of_first_keeper) == (after.forfeit, after.of_first_keeper)
        && (before.resolved_at == after.resolved_at || act.name == "output_resolve");
    must!(same, "a lease's terms stay", "{}: {at}", act.name);
    let grows = after.paid_secs >= before.paid_secs
        && after.paid >= before.paid
        && after.receipt_secs >= before.receipt_secs
        && after.verified_secs >= before.verified_secs
        && after.downtime_secs >= before.downtime_secs;
    must!(grows, "time is never taken back", "{}: {at}", act.name);
    must!(
        before.checkpoint_hash == after.checkpoint_hash || act.signed(&before.node_key),
        "the machine puts down checkpoints",
        "{at}"
    );
    must!(
        before.rating == after.rating || (before.rating == 0 && act.signed(&before.customer)),
        "rated once",
        "{at}"
    );
    if (before.status, after.status) == (LEASE_AWARDED, LEASE_RUNNING) {
        let order = act.ledger.get::<Order>(&before.order);
        let whole = order.is_some_and(|order| matches!(order.status, ORDER_AWARDED | ORDER_LAPSED));
        let ready = before.continues == 1 || whole;
        must!(ready && act.signed(&before.node_key), "the machine starts a whole order", "{at}");
        let until = act.now + i64::from(before.duration_secs);
        must!(after.started_at == act.now && until == after.funded_until, "time begins to count", "{at}");
    } else {
        must!(before.started_at == after.started_at, "a lease starts once", "{}: {at}", act.name);
        let more = after.funded_until - before.funded_until;
        must!(
            more == 0 || (more > 0 && act.customer_acts(&before.customer)),
            "the customer extends",
            "{}: {at}",
            act.name
        );
        if more > 0 {
            must!(
                before.status == LEASE_RUNNING && act.now < before.funded_until,
                "what runs is extended",
                "{at}"
            );
        }
    }
    Ok(())
}

/// Seconds come from receipts of both sides or from final reports, and never exceed the clock.
fn time(act: &Act, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    let at = change.at;
    if (after.receipt_secs, after.receipt_sequence) != (before.receipt_secs, before.receipt_sequence) {
        must!(after.receipt_sequence > before.receipt_sequence, "receipts are newer", "{at}");
        let message = receipt_message(before, &at, after.receipt_sequence, u64::from(after.receipt_secs));
        let customers = act.verified.iter().filter(|(key, _)| act.speaks_for(key, &before.customer));
        let by_customer = customers.into_iter().any(|(_, text)| *text == message);
        let both = act.verified(&before.node_key, &message) && by_customer;
        must!(both, "node and customer sign a receipt", "{at}");
        must!(
            after.receipt_secs <= before.billable_secs(act.now),
            "a receipt is of time that passed",
            "{at}"
        );
    }
    if after.paid_secs > before.paid_secs {
        let claimed = after.receipt_secs.max(after.verified_secs);
        must!(
            after.paid_secs <= claimed,
            "only claimed time is paid",
            "{at}: {} of {claimed}",
            after.paid_secs
        );
        let until = act.ledger.get::<Node>(&before.node).map_or(0, |node| node.payable_until(act.now));
        let thawed = before.frozen == 0 && after.paid_secs <= after.billable_secs(until);
        must!(thawed, "no frozen second is paid", "{}: {at}", act.name);
    }
    must!(
        after.paid_secs <= after.billable_secs(act.now),
        "paid time has passed, was funded, and was up",
        "{}: {at}: {} of {}",
        act.name,
        after.paid_secs,
        after.billable_secs(act.now)
    );
    Ok(())
}

fn ended(act: &Act, market: &Market, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    let at = change.at;
    if before.status == after.status {
        return Ok(());
    }
    let known = matches!(
        (before.status, after.status),
        (LEASE_AWARDED, LEASE_RUNNING)
            | (LEASE_RUNNING, LEASE_FAILED | LEASE_ENDED)
            | (LEASE_FAILED, LEASE_ENDED)
    );
    must!(known, "a lease goes one way", "{at}: {} to {}", before.status, after.status);
    if after.status != LEASE_ENDED {
        return Ok(());
    }
    let owner = act.ledger.get::<Provider>(&before.provider).map(|provider| provider.wallet);
    let by_provider = owner.is_some_and(|owner| act.signed(&owner)) || act.signed(&before.node_key);
    let node = act.ledger.get::<Node>(&before.node);
    let convicted = node.is_some_and(|node| node.convicted_from != 0);
    // A node that was slashed and not topped up bills no longer: anyone may end what runs there.
    let unbacked = node.is_some_and(|node| {
        node.billing_until != 0 && act.now >= node.billing_until && node.billing_until < before.funded_until
    });
    let over = unbacked || convicted || before.status == LEASE_FAILED || act.now >= before.funded_until;
    must!(
        over || by_provider || act.customer_acts(&before.customer),
        "its parties end a lease",
        "{}: {at}",
        act.name
    );
    if before.status == LEASE_FAILED && before.can_migrate().unwrap_or(false) && act.name != "lease_migrate" {
        let waited = act.now > before.ended_at + i64::from(before.settle_secs);
        must!(waited || act.customer_acts(&before.customer), "a failed lease has time to move", "{at}");
    }
    let most = after.owed(after.billable_secs(after.ended_at)).ok();
    let held = after.provider_total().ok().and_then(|paid| paid.checked_add(after.reserved));
    must!(held == most, "what cannot be owed is free at once", "{at}: holds {held:?}, may owe {most:?}");
    let notice = i64::from(before.notice_secs);
    let least = if before.interruptible == 1 { before.started_at + 5 * notice } else { 0 };
    let noticed = before.notice_at != 0 && act.now >= (before.notice_at + notice).max(least);
    let leaves = by_provider
        && !over
        && !act.customer_acts(&before.customer)
        && !noticed
        && before.repriced == 0
        && before.run_to_completion == 0;
    if leaves {
        let unpaid = before.billable_secs(act.now) - before.paid_secs;
        let forfeited = after.downtime_secs - before.downtime_secs;
        must!(forfeited == unpaid.min(before.notice_secs), "leaving without notice costs its pay", "{at}");
    }
    let node = act.after::<Node>(&before.node);
    let freed = node.is_some_and(|node| node.gpu_mask & before.gpu_mask == 0);
    must!(freed, "a lease that ends frees its GPUs", "{at} ({})", market.version);
    Ok(())
}

fn closed(act: &Act, change: &Change<Lease>, lease: &Lease) -> Verdict {
    let at = change.at;
    must!(lease.pending_faults == 0, "a lease with a fault stays", "{at}");
    if lease.status == LEASE_AWARDED {
        let order = act.ledger.get::<Order>(&lease.order);
        let late = match order {
            Some(order) if lease.continues == 1 => act.now > lease.awarded_at + i64::from(order.start_secs),
            Some(order) if order.status == ORDER_EXPIRED => true,
            Some(order) => order.awarded_at != 0 && act.now > order.awarded_at + i64::from(order.start_secs),
            None => false,
        };
        if act.name == "lease_decline" {
            let same = |node: &Node| (node.jobs_failed, node.fees_failed, node.record_since);
            let (was, node) = (act.ledger.get::<Node>(&lease.node), act.after::<Node>(&lease.node));
            let blamed = was.map(same) != node.map(same);
            let free = node.is_some_and(|node| node.gpu_mask & lease.gpu_mask == 0);
            must!(
                !late && !blamed && free && act.signed(&lease.node_key),
                "a machine declines in time, and is not blamed",
                "{at}"
            );
            return Ok(());
        }
        must!(late, "a lease is aborted after its deadline", "{at}");
        return Ok(());
    }
    must!(lease.status == LEASE_ENDED, "a lease closes when it has ended", "{at}");
    // What waited for a comparison could not be paid before it.
    let deadline = lease.ended_at.max(lease.resolved_at) + i64::from(lease.settle_secs);
    let node = act.ledger.get::<Node>(&lease.node);
    must!(node.is_some_and(|node| !node.holds(lease, act.now)), "a lease of a faulty node stays", "{at}");
    let convicted = node.is_some_and(|node| node.convicted_from != 0);
    let unpaid = lease.unsettled_secs(act.now) > 0 && !convicted;
    must!(
        !unpaid || act.now > deadline + i64::from(lease.settle_secs),
        "claimed pay is paid before a close",
        "{at}"
    );
    // What paid nothing cannot be rated, and what paid little for a short time only.
    let to_rate = lease.paid_secs.saturating_mul(1_000).min(lease.rating_secs);
    let rated = lease.rating != 0 || lease.paid == 0 || act.signed(&lease.customer);
    must!(rated || act.now >= lease.ended_at + i64::from(to_rate), "there is time to rate", "{at}");
    Ok(())
}
