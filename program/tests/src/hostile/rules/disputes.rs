//! Disputes: one for a lease, votes once each, the deposit is lost by the rejecting quorum alone.

use std::collections::BTreeSet;

use gantry_market::constants::FLAG_BAD_OUTPUT;
use gantry_market::math::fees::bps_of;
use gantry_market::math::slashing::harm_in_stake;
use gantry_market::state::{Dispute, Fault, Keeper, Lease, Market, Node, KEEPER_ACTIVE, LEASE_AWARDED};

use super::{must, Act, Change, Verdict};
use crate::pda;

fn quorum(weight: u64, dispute: &Dispute, market: &Market) -> bool {
    let needed = u128::from(dispute.total_weight) * u128::from(market.params.quorum_bps);
    weight > 0 && u128::from(weight) * 10_000 >= needed
}

/// What the customer loses when this dispute is closed.
pub fn lost_deposit(act: &Act, market: &Market, dispute: &Dispute) -> i128 {
    let rejected = quorum(dispute.rejected_weight, dispute, market);
    if act.name == "dispute_resolve" && rejected && !quorum(dispute.upheld_weight, dispute, market) {
        i128::from(dispute.deposit)
    } else {
        0
    }
}

fn bits(voters: &[u8; 32]) -> BTreeSet<u16> {
    (0..256).filter(|index| voters[usize::from(*index) / 8] & (1 << (index % 8)) != 0).collect()
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Dispute>() {
        let at = change.at;
        if let Some(dispute) = change.created() {
            opened(act, market, &change, dispute)?;
        }
        if let Some((before, after)) = change.both() {
            voted(act, &change, before, after)?;
        }
        if let Some(dispute) = change.closed() {
            let upheld = quorum(dispute.upheld_weight, dispute, market);
            let rejected = quorum(dispute.rejected_weight, dispute, market);
            if upheld {
                must!(act.name == "dispute_uphold", "what is upheld becomes a fault", "{}: {at}", act.name);
                fault(act, market, dispute)?;
            } else {
                must!(act.name == "dispute_resolve", "only the quorum makes a fault", "{}: {at}", act.name);
                let over = rejected || act.now >= dispute.closes_at;
                must!(over, "a dispute has its time", "{at}: {} of {}", act.now, dispute.closes_at);
            }
        }
    }
    // A lease is disputed once, ever.
    for change in act.changes::<Lease>() {
        let Some((before, after)) = change.both() else { continue };
        if before.disputed != after.disputed {
            let opened = act.name == "dispute_open" && (before.disputed, after.disputed) == (0, 1);
            must!(opened, "a lease is disputed once", "{}: {}", act.name, change.at);
        }
    }
    for change in act.changes::<Node>() {
        let Some((before, after)) = change.both() else { continue };
        if before.disputes_lost != after.disputes_lost {
            let one = act.name == "dispute_uphold" && after.disputes_lost == before.disputes_lost + 1;
            must!(one, "a dispute is lost by the quorum", "{}: {}", act.name, change.at);
        }
    }
    Ok(())
}

fn opened(act: &Act, market: &Market, change: &Change<Dispute>, dispute: &Dispute) -> Verdict {
    let at = change.at;
    let lease = act.ledger.get::<Lease>(&dispute.lease);
    must!(lease.is_some(), "a dispute is of a lease", "{at}");
    let lease = lease.expect("just checked");
    must!(lease.disputed == 0 && lease.status > LEASE_AWARDED, "a lease that ran is disputed once", "{at}");
    let parties = (dispute.customer, dispute.node) == (lease.customer, lease.node);
    must!(parties && act.signed(&lease.customer), "the customer disputes its lease", "{at}");
    must!(dispute.deposit == market.params.dispute_deposit, "a dispute has its deposit", "{at}");
    let due = act.now + i64::from(market.params.appeal_secs);
    must!((dispute.opened_at, dispute.closes_at) == (act.now, due), "a dispute has its time", "{at}");
    let empty = dispute.upheld_weight == 0 && dispute.rejected_weight == 0;
    must!(empty && dispute.total_weight == market.total_weight, "a dispute measures all weight", "{at}");
    Ok(())
}

fn voted(act: &Act, change: &Change<Dispute>, before: &Dispute, after: &Dispute) -> Verdict {
    let at = change.at;
    let same = (before.lease, before.node, before.customer, before.evidence_hash, before.kind)
        == (after.lease, after.node, after.customer, after.evidence_hash, after.kind)
        && (before.total_weight, before.deposit, before.opened_at, before.closes_at)
            == (after.total_weight, after.deposit, after.opened_at, after.closes_at);
    must!(same, "a dispute's terms stay", "{}: {at}", act.name);
    let sides = |dispute: &Dispute| (bits(&dispute.upheld_voters), bits(&dispute.rejected_voters));
    let ((up, down), (up_after, down_after)) = (sides(before), sides(after));
    must!(up.is_subset(&up_after) && down.is_subset(&down_after), "votes are never taken back", "{at}");
    must!(up_after.is_disjoint(&down_after), "a keeper votes for one side", "{at}");
    let fresh: Vec<u16> = up_after.difference(&up).chain(down_after.difference(&down)).copied().collect();
    must!(fresh.len() == 1, "a keeper votes once", "{at}: {fresh:?}");
    let keeper = act.ledger.all::<Keeper>().find(|(_, keeper)| keeper.index == fresh[0]).map(|(_, k)| k);
    let fit = keeper.is_some_and(|keeper| {
        keeper.status == KEEPER_ACTIVE && keeper.active_since < before.opened_at && act.signed(&keeper.wallet)
    });
    must!(fit && act.now < before.closes_at, "keepers active before a dispute vote in time", "{at}");
    let keeper = keeper.expect("just checked");
    let gained = (after.upheld_weight - before.upheld_weight, after.rejected_weight - before.rejected_weight);
    let upheld = up_after.len() > up.len();
    let want = if upheld { (keeper.weight, 0) } else { (0, keeper.weight) };
    must!(gained == want, "a vote weighs its keeper's weight", "{at}: {gained:?}");
    let all = u128::from(after.upheld_weight) + u128::from(after.rejected_weight);
    must!(all <= u128::from(after.total_weight), "votes weigh at most all", "{at}");
    let finder = if upheld && up.is_empty() { keeper.wallet } else { before.finder };
    must!(after.finder == finder, "the first voter is the finder", "{at}");
    Ok(())
}

fn fault(act: &Act, market: &Market, dispute: &Dispute) -> Verdict {
    let made = act.changes::<Fault>().find_map(|change| change.created().map(|fault| (change.at, *fault)));
    must!(made.is_some(), "what is upheld becomes a fault", "{}", dispute.lease);
    let (at, fault) = made.expect("just checked");
    let lease = act.ledger.get::<Lease>(&dispute.lease);
    let node = act.ledger.get::<Node>(&dispute.node);
    let Some((lease, node)) = lease.zip(node) else {
        must!(false, "a disputed lease and its node stay", "{at}");
        return Ok(());
    };
    must!(
        at == pda::fault(&fault.node, &fault.lease, fault.period),
        "accounts lie where they derive",
        "{at}"
    );
    let parties = (fault.node, fault.provider, fault.lease, fault.customer, fault.finder)
        == (dispute.node, lease.provider, dispute.lease, lease.customer, dispute.finder);
    must!(parties, "a fault is of what was disputed", "{at}");
    let due = act.now + i64::from(market.params.appeal_secs);
    must!(fault.applicable_at == due, "an appeal has its time", "{at}: {} of {due}", fault.applicable_at);
    let amount = bps_of(node.required_stake, lease.slash_bad_work_bps).ok();
    must!(amount == Some(fault.amount), "a fault costs what the terms say", "{at}: {}", fault.amount);
    let harm = harm_in_stake(lease.paid, market.params.stake_price).ok();
    must!(harm == Some(fault.harm), "harm is what was lost", "{at}: {}", fault.harm);
    let votes = fault.total_weight == dispute.total_weight && fault.flags == FLAG_BAD_OUTPUT;
    must!(votes && fault.finder_bps <= 1_000, "a fault measures what the dispute did", "{at}");
    Ok(())
}
