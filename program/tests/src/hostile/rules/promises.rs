//! Committed availability: a promise grows until it is settled, counts what reports say, and is settled once.

use gantry_market::constants::{MAX_COMMITMENT_SECS, PROMISE_BPS_MIN};
use gantry_market::state::{Market, Node, Provider, NODE_ACTIVE, NODE_RETIRED, NODE_SUSPENDED};

use super::{must, Act, Change, Verdict};

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Node>() {
        let Some((before, after)) = change.both() else { continue };
        stays(act, &change, before, after)?;
        terms(act, market, &change, before, after)?;
    }
    if act.name == "commitment_settle" {
        // Also where nothing of the node has changed.
        let at = act.instruction.accounts[2].pubkey;
        let over = act.after::<Node>(&at).is_some_and(|node| !node.is_committed());
        must!(over, "a commitment is settled once", "{at}");
    }
    Ok(())
}

/// Whoever has committed a machine keeps it in the market.
fn stays(act: &Act, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    if !before.is_committed() && !after.is_committed() {
        return Ok(());
    }
    let by_owner = act.book.get::<Provider>(&before.provider).is_some_and(|owner| act.signed(&owner.wallet));
    let settled = act.name == "commitment_settle" && !after.is_committed();
    let grows = after.committed_until >= before.committed_until && after.promise_bps >= before.promise_bps;
    must!(settled || grows, "a commitment only grows until it is settled", "{}: {at}", act.name);
    let new = after.committed_until != before.committed_until || after.promise_bps != before.promise_bps;
    must!(settled || !new || by_owner, "the owner commits", "{}: {at}", act.name);
    let stays = settled || matches!(after.status, NODE_ACTIVE | NODE_SUSPENDED);
    must!(
        stays || act.now >= after.committed_until && after.status != NODE_RETIRED,
        "a committed machine stays",
        "{}: {at}",
        act.name
    );
    Ok(())
}

/// What a commitment says, what counts in it, and when it is over.
fn terms(act: &Act, market: &Market, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    let said = |node: &Node| (node.committed_since, node.committed_until, node.promise_bps);
    let counted = |node: &Node| (node.promise_up_secs, node.promise_counted_secs);
    let period = i64::from(market.params.period_secs);
    if act.name == "commitment_settle" {
        let wait = i64::from(market.params.settle_deadline_secs().expect("fits") + market.params.appeal_secs);
        let due = before.is_committed() && act.now >= before.committed_until + wait;
        must!(due, "a commitment is settled when all is known", "{at}: {}", before.committed_until);
        let waits = before.status == NODE_SUSPENDED && before.pending_faults > 0;
        must!(!waits, "a fault that may be voided decides nothing", "{at}");
        must!(said(after) == (0, 0, 0) && counted(after) == (0, 0), "a commitment is settled once", "{at}");
        return Ok(());
    }
    if said(before) != said(after) {
        let start = (act.now / period + 1) * period;
        let since = if before.is_committed() { before.committed_since } else { start };
        must!(
            act.name == "node_commit" && after.committed_since == since,
            "a commitment has a start",
            "{at}"
        );
        let long = after.committed_until >= act.now + i64::from(market.params.unstake_cooldown_secs)
            && after.committed_until >= since + period;
        let bound = after.committed_until <= since + MAX_COMMITMENT_SECS;
        must!(long && bound, "a commitment lasts longer than stake takes to leave", "{at}");
        let share = (PROMISE_BPS_MIN..=10_000).contains(&after.promise_bps);
        must!(share && before.status == NODE_ACTIVE, "an active machine promises uptime", "{at}");
        must!(!before.is_committed() || act.now < before.committed_until, "what is over is settled", "{at}");
        let covered = act.book.get::<Provider>(&before.provider).is_some_and(|p| p.stake >= p.committed);
        must!(covered, "stake answers for a promise", "{at}");
        let cost = after.slash_commitment_bps == market.params.slash_commitment_bps;
        must!(cost && counted(after) == counted(before), "a promise has the terms of its day", "{at}");
        return Ok(());
    }
    counts(act, market, change, before, after)
}

/// What an instruction adds to what a commitment counts: a whole period by its leaf, the time of a suspension as down.
fn counts(act: &Act, market: &Market, change: &Change<Node>, before: &Node, after: &Node) -> Verdict {
    let at = change.at;
    let period = i64::from(market.params.period_secs);
    let seconds = (
        after.promise_up_secs.checked_sub(before.promise_up_secs),
        after.promise_counted_secs.checked_sub(before.promise_counted_secs),
    );
    let none = (Some(0), Some(0));
    if !before.is_committed() {
        must!(seconds == none, "only a commitment counts time", "{}: {at}", act.name);
        return Ok(());
    }
    let suspended = before.status == NODE_SUSPENDED;
    let applied =
        (before.last_report_period, before.report_window) != (after.last_report_period, after.report_window);
    if let Some(leaf) = super::reports::leaf(act, market).filter(|_| applied) {
        let end = (leaf.period as i64 + 1) * period;
        let within = end - period >= before.committed_since && end <= before.committed_until;
        let counts = within && !(suspended && end > before.suspended_at);
        let want = if counts { (Some(u64::from(leaf.up_secs)), Some(period as u64)) } else { none };
        must!(seconds == want, "a period counts as its leaf says", "{at}: {seconds:?}, want {want:?}");
    } else if act.name == "node_update" && suspended {
        let from = before.suspended_at.max(before.committed_since);
        let away = act.now.min(before.committed_until).saturating_sub(from).max(0);
        let want = (Some(0), Some(away as u64));
        must!(seconds == want, "the time of a suspension counts as down", "{at}: {seconds:?}, want {want:?}");
    } else {
        must!(seconds == none, "nothing else counts in a commitment", "{}: {at}: {seconds:?}", act.name);
    }
    Ok(())
}
