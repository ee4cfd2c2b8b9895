//! Committed availability: a guarantee grows until it is settled, counts what reports say, and is settled once.

use gantry_market::constants::{GUARANTEE_BPS_MIN, MAX_GUARANTEE_SECS, STAKE_UNIT};
use gantry_market::state::{
    Fault, Lease, Market, Node, Provider, FAULT_GUARANTEE, NODE_ACTIVE, NODE_RETIRED, NODE_SUSPENDED,
    OUTPUT_REJECTED, OUTPUT_WITHHELD,
};
use solana_address::Address;

use super::{must, Act, Change, Verdict};

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Node>() {
        let Some((before, after)) = change.both() else { continue };
        stays(act, &change, before, after)?;
        terms(act, market, &change, before, after)?;
    }
    if act.name == "guarantee_resolve" {
        // A call that leaves the guarantee open has counted leases: one that changes nothing of the node is refused.
        let at = act.instruction.accounts[2].pubkey;
        let over = act.after::<Node>(&at).is_some_and(|node| !node.is_guaranteed());
        let counted = act.changes::<Node>().any(|change| change.at == at);
        must!(over || counted, "a guarantee is resolved once", "{at}");
    }
    Ok(())
}

/// Whoever has committed a machine keeps it in the market.
fn stays(act: &Act, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    if !before.is_guaranteed() && !after.is_guaranteed() {
        return Ok(());
    }
    let by_owner =
        act.ledger.get::<Provider>(&before.provider).is_some_and(|owner| act.signed(&owner.wallet));
    let settled = act.name == "guarantee_resolve" && !after.is_guaranteed();
    let grows =
        after.guaranteed_until >= before.guaranteed_until && after.guarantee_bps >= before.guarantee_bps;
    must!(settled || grows, "a guarantee only grows until it is resolved", "{}: {at}", act.name);
    let new =
        after.guaranteed_until != before.guaranteed_until || after.guarantee_bps != before.guarantee_bps;
    must!(settled || !new || by_owner, "the owner commits", "{}: {at}", act.name);
    let stays = settled || matches!(after.status, NODE_ACTIVE | NODE_SUSPENDED);
    must!(
        stays || act.now >= after.guaranteed_until && after.status != NODE_RETIRED,
        "a committed machine stays",
        "{}: {at}",
        act.name
    );
    Ok(())
}

/// What a guarantee says, what counts in it, and when it is over.
fn terms(act: &Act, market: &Market, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    let terms = |node: &Node| (node.guaranteed_since, node.guaranteed_until, node.guarantee_bps);
    let counted = |node: &Node| (node.guarantee_up_secs, node.guarantee_counted_secs);
    let period = i64::from(market.params.period_secs);
    if act.name == "guarantee_resolve" {
        let wait = i64::from(before.guarantee_settle_secs) + i64::from(before.guarantee_appeal_secs);
        let due = before.is_guaranteed() && act.now >= before.guaranteed_until + wait;
        must!(due, "a guarantee is resolved when all is known", "{at}: {}", before.guaranteed_until);
        let waits = before.status == NODE_SUSPENDED && before.pending_node_faults > 0;
        must!(!waits, "a fault that may be voided decides nothing", "{at}");
        if terms(after) == terms(before) {
            return half_counted(act, &at, before, after);
        }
        must!(terms(after) == (0, 0, 0) && counted(after) == (0, 0), "a guarantee is resolved once", "{at}");
        return broken(act, &at, before, after);
    }
    if terms(before) != terms(after) {
        let start = (act.now / period + 1) * period;
        let since = if before.is_guaranteed() { before.guaranteed_since } else { start };
        must!(
            act.name == "node_guarantee" && after.guaranteed_since == since,
            "a guarantee has a start",
            "{at}"
        );
        let long = after.guaranteed_until >= act.now + i64::from(market.params.unstake_cooldown_secs)
            && after.guaranteed_until >= since + period;
        // An eighth of what the GPUs earn meanwhile at the reference price is not more than the stake.
        let worth = u128::from(before.required_stake) * u128::from(market.params.stake_price) / 1_000_000_000;
        let hourly = u128::from(before.reference_price) * u128::from(before.spec.gpus);
        let covered = worth * 8 * 3_600 / hourly.max(1);
        let length = (after.guaranteed_until - since).max(0) as u128;
        let bound = length <= covered.min(MAX_GUARANTEE_SECS as u128);
        must!(long && bound, "a guarantee lasts longer than stake takes to leave", "{at}");
        let share = (GUARANTEE_BPS_MIN..=10_000).contains(&after.guarantee_bps);
        must!(share && before.status == NODE_ACTIVE, "an active machine guarantees uptime", "{at}");
        must!(
            !before.is_guaranteed() || act.now < before.guaranteed_until,
            "what is over is settled",
            "{at}"
        );
        must!(before.covered(), "stake answers for a guarantee", "{at}");
        let params = &market.params;
        let times = (after.guarantee_settle_secs, after.guarantee_appeal_secs, after.guarantee_payout_secs);
        let cost = (after.slash_guarantee_bps, after.guarantee_stake_price)
            == (params.slash_guarantee_bps, params.stake_price)
            && times
                == (
                    params.settle_deadline_secs().expect("fits"),
                    params.appeal_secs,
                    params.unstake_cooldown_secs,
                );
        must!(cost && counted(after) == counted(before), "a guarantee has the terms of its day", "{at}");
        return Ok(());
    }
    counts(act, market, change, before, after)
}

/// Some of the open leases of a broken guarantee are counted, each once.
fn half_counted(act: &Act, at: &Address, before: &Node, after: &Node) -> Verdict {
    let now: Vec<_> = act
        .changes::<Lease>()
        .filter_map(|change| change.both())
        .filter(|(lease, then)| lease.counted_until != then.counted_until)
        .collect();
    let fresh = now.iter().all(|(lease, then)| {
        lease.node == *at
            && lease.counted_until != before.guaranteed_until
            && then.counted_until == before.guaranteed_until
    });
    let less = usize::from(before.guarantee_open).checked_sub(now.len());
    must!(fresh && !now.is_empty(), "a guarantee counts a lease once", "{at}");
    must!(less == Some(after.guarantee_open.into()), "a guarantee counts a lease once", "{at}");
    must!(after.guarantee_open > 0, "a guarantee whose leases are counted is resolved", "{at}");
    let due: u64 = now.iter().map(|(lease, _)| due_within(lease, before, act.now)).sum();
    let earned = after.guarantee_revenue.checked_sub(before.guarantee_revenue);
    must!(earned == Some(due), "a guarantee counts what leases have paid", "{at}: {earned:?} of {due}");
    Ok(())
}

/// A guarantee that was not kept is a fault about all of its time, and one that was kept is none.
fn broken(act: &Act, at: &Address, before: &Node, after: &Node) -> Verdict {
    let fault = act.changes::<Fault>().find_map(|change| change.created());
    let suspended = before.status == NODE_SUSPENDED;
    let from = before.suspended_at.max(before.guaranteed_since);
    let away = if suspended { (act.now.min(before.guaranteed_until) - from).max(0) as u128 } else { 0 };
    let counted = u128::from(before.guarantee_counted_secs) + away;
    let kept = u128::from(before.guarantee_up_secs) * 10_000 >= counted * u128::from(before.guarantee_bps);
    must!(kept == fault.is_none(), "a guarantee that was broken is a fault, and no other", "{at}: {kept}");
    let Some(fault) = fault else { return Ok(()) };
    let by_stake = u128::from(before.required_stake) * u128::from(before.slash_guarantee_bps) / 10_000;
    let open: u64 = act
        .ledger
        .all::<Lease>()
        .filter(|(_, lease)| {
            let until = before.guaranteed_until;
            lease.node == *at && lease.awarded_at < until && lease.counted_until != until
        })
        .map(|(_, lease)| due_within(lease, before, act.now))
        .sum();
    let by_revenue = u128::from((before.guarantee_revenue + open) / 8) * u128::from(STAKE_UNIT)
        / u128::from(before.guarantee_stake_price);
    let all = act.ledger.all::<Lease>().filter(|(_, lease)| lease.node == *at);
    let left_out = all.filter(|(lease, was)| {
        let until = before.guaranteed_until;
        let is = act.after::<Lease>(lease).unwrap_or(was);
        was.awarded_at < until && is.counted_until != until
    });
    let left_out = left_out.count();
    must!(left_out == 0, "no lease of a broken guarantee is left out", "{at}: {left_out}");
    let amount = by_stake.max(by_revenue).min(u128::from(before.available_stake()));
    must!(u128::from(fault.amount) == amount, "a broken guarantee costs what its terms say", "{at}");
    let window = (fault.window_from, fault.window_until, fault.gpus);
    let whole = (before.guaranteed_since, before.guaranteed_until, before.spec.gpus);
    must!(window == whole, "a broken guarantee is about its time", "{at}: {window:?}");
    let terms = (fault.kind, fault.flags, fault.applicable_at, fault.finder)
        == (FAULT_GUARANTEE, 0, act.now, Address::default())
        && (fault.node, fault.provider) == (*at, before.provider)
        && (fault.stake_price, fault.reference_price)
            == (before.guarantee_stake_price, before.reference_price)
        && (fault.claim_secs, fault.payout_secs)
            == (2 * before.guarantee_settle_secs, before.guarantee_payout_secs);
    must!(terms, "a broken guarantee has the terms that it was given under", "{at}");
    let frozen = after.frozen_from != 0 && after.frozen_from <= before.guaranteed_since;
    must!(frozen, "no lease closes before its fault is applied", "{at}");
    Ok(())
}

/// What a lease has paid for seconds of a guarantee, or may still pay by what was claimed, as if all downtime came before.
fn due_within(lease: &Lease, node: &Node, now: i64) -> u64 {
    let (from, until) = (node.guaranteed_since, node.guaranteed_until);
    let lost = matches!(lease.output, OUTPUT_REJECTED | OUTPUT_WITHHELD);
    let claimed = if lost { 0 } else { lease.receipt_secs.max(lease.verified_secs) };
    let known = if node.convicted_from == 0 { now } else { now.min(node.convicted_from) };
    let due = claimed.min(lease.billable_secs(known)).max(lease.paid_secs);
    let end = lease.started_at + i64::from(lease.downtime_secs) + i64::from(due);
    let seconds = (end.min(until) - lease.started_at.max(from)).clamp(0, i64::from(due));
    let part = u128::from(lease.owed(due).expect("fits")) * seconds as u128 / u128::from(due.max(1));
    part as u64
}

/// What an instruction adds to what a guarantee counts: a whole period by its leaf, the time of a suspension as down.
fn counts(act: &Act, market: &Market, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    let period = i64::from(market.params.period_secs);
    let earned = i128::from(after.guarantee_revenue) - i128::from(before.guarantee_revenue);
    let paid: i128 =
        act.changes::<Lease>().filter_map(|lease| lease.closed()).map(|lease| i128::from(lease.paid)).sum();
    must!(
        (0..=paid).contains(&earned),
        "only paid leases are revenue of a guarantee",
        "{at}: {earned} of {paid}"
    );
    let seconds = (
        after.guarantee_up_secs.checked_sub(before.guarantee_up_secs),
        after.guarantee_counted_secs.checked_sub(before.guarantee_counted_secs),
    );
    let none = (Some(0), Some(0));
    if !before.is_guaranteed() {
        must!(seconds == none, "only a guarantee counts time", "{}: {at}", act.name);
        return Ok(());
    }
    let suspended = before.status == NODE_SUSPENDED;
    let applied =
        (before.last_report_period, before.report_window) != (after.last_report_period, after.report_window);
    if let Some(leaf) = super::reports::leaf(act, market).filter(|_| applied) {
        let end = (leaf.period as i64 + 1) * period;
        let within = end - period >= before.guaranteed_since && end <= before.guaranteed_until;
        let counts = within && !(suspended && end > before.suspended_at);
        let want = if counts { (Some(u64::from(leaf.up_secs)), Some(period as u64)) } else { none };
        must!(seconds == want, "a period counts as its leaf says", "{at}: {seconds:?}, want {want:?}");
    } else if act.name == "node_update" && suspended {
        let from = before.suspended_at.max(before.guaranteed_since);
        let away = act.now.min(before.guaranteed_until).saturating_sub(from).max(0);
        let want = (Some(0), Some(away as u64));
        must!(seconds == want, "the time of a suspension counts as down", "{at}: {seconds:?}, want {want:?}");
    } else {
        must!(seconds == none, "nothing else counts in a guarantee", "{}: {at}: {seconds:?}", act.name);
    }
    Ok(())
}
