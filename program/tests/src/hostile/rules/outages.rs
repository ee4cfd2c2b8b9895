//! Outages: only the keepers' quorum makes one, in half a minute, and it costs what a report of it would.

use gantry_market::constants::{
    FLAG_OFFLINE, OUTAGE_MAX_SECS, OUTAGE_MOVE_SECS, OUTAGE_SECS, OUTAGE_VOTE_SECS,
};
use gantry_market::state::{
    Fault, Keeper, Lease, Market, Node, Outage, FAULT_OUTAGE, KEEPER_ACTIVE, LEASE_FAILED, LEASE_RUNNING,
};

use super::{must, Act, Change, Verdict};
use crate::pda;

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Outage>() {
        if let Some(after) = change.after {
            voted(act, market, &change, after)?;
        } else if let Some(gone) = change.closed() {
            must!(
                gone.over(act.now).unwrap_or(false),
                "an outage closes when it counts no more",
                "{}",
                change.at
            );
        }
    }
    for change in act.changes::<Node>() {
        let Some((before, after)) = change.both() else { continue };
        if act.name == "outage_vote" && before.unhealthy != after.unhealthy {
            let seen =
                act.changes::<Outage>().any(|outage| outage.after.is_some_and(|is| is.seen_at == act.now));
            let soon = after.unhealthy.until <= before.unhealthy.until.max(act.now + 600);
            must!(seen && soon, "the quorum keeps a node from work, for a while", "{}", change.at);
        }
    }
    for change in act.changes::<Lease>() {
        if let Some((before, after)) = change.both() {
            failed(act, &change, before, after)?;
        }
    }
    Ok(())
}

fn voters(outage: &Outage) -> u32 {
    outage.voters.iter().map(|byte| byte.count_ones()).sum()
}

/// One vote more of a keeper with weight, in the window of those before; a window that is over forgets them.
fn voted(act: &Act, market: &Market, change: &Change<Outage>, after: &Outage) -> Verdict {
    let at = change.at;
    must!(at == pda::outage(&after.node), "accounts lie where they derive", "{at}");
    let keeper = act
        .ledger
        .all::<Keeper>()
        .find(|(_, keeper)| act.signed(&keeper.signer) && act.name == "outage_vote");
    must!(keeper.is_some(), "keepers vote about outages", "{}: {at}", act.name);
    let before = change.before.filter(|before| after.opened_at == before.opened_at);
    let (weight, count) = before.map_or((0, 0), |before| (before.weight, voters(before)));
    let by = act.ledger.all::<Keeper>().any(|(_, keeper)| {
        act.signed(&keeper.signer)
            && keeper.status == KEEPER_ACTIVE
            && keeper.active_since < after.opened_at
            && after.weight == weight + keeper.weight
            && after.voters[usize::from(keeper.index) / 8] & (1 << (keeper.index % 8)) != 0
    });
    must!(by && voters(after) == count + 1, "each active keeper votes once", "{at}");
    let fresh =
        act.now <= after.opened_at + OUTAGE_VOTE_SECS && (before.is_some() || after.opened_at == act.now);
    must!(fresh, "votes count together for half a minute", "{at}");
    if let Some(replaced) = change.before.filter(|_| before.is_none()) {
        must!(replaced.over(act.now).unwrap_or(false), "votes stand until their window is over", "{at}");
    }
    let silent = act.now - after.last_answer;
    let latest = before.is_none_or(|before| after.last_answer >= before.last_answer);
    let known = (OUTAGE_SECS..=OUTAGE_MAX_SECS + OUTAGE_VOTE_SECS).contains(&silent);
    must!(latest && known, "the latest last answer counts", "{at}: {silent} s");
    must!(before.is_none_or(|before| before.seen_at == 0), "an outage is seen once", "{at}");
    let total = u128::from(after.total_weight.max(market.total_weight));
    let enough = u128::from(after.weight) * 10_000 >= total * u128::from(market.params.quorum_bps);
    must!((after.seen_at != 0) == enough, "the quorum sees an outage", "{at}");
    Ok(())
}

/// A lease fails in an outage as it would by a report.
fn failed(act: &Act, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    let at = change.at;
    if before.away == after.away {
        return Ok(());
    }
    let outage = act.ledger.get::<Outage>(&pda::outage(&before.node));
    let stands = outage.is_some_and(|outage| {
        outage.seen_at != 0
            && act.now <= outage.seen_at + OUTAGE_MOVE_SECS
            && before.started_at <= outage.last_answer
            && after.ended_at >= outage.last_answer.min(before.funded_until)
    });
    must!(act.name == "lease_outage" && stands, "an outage ends leases", "{}: {at}", act.name);
    let fails = (before.status, after.status, after.away) == (LEASE_RUNNING, LEASE_FAILED, 1);
    must!(fails && before.may_migrate == 1, "a lease that may move fails once", "{at}");
    must!(after.paid == before.paid && after.ended_at <= act.now, "what is paid stays paid", "{at}");
    let fault = act.after::<Fault>(&pda::outage_fault(&at));
    let due = fault.is_some_and(|fault| {
        (fault.kind, fault.flags, fault.lease) == (FAULT_OUTAGE, FLAG_OFFLINE, at)
            && fault.window_from <= after.ended_at
            && after.ended_at <= fault.window_until
    });
    must!(due, "an outage costs what a report of it would", "{at}");
    Ok(())
}
