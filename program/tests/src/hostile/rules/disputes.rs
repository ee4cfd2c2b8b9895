//! Disputes: one for a lease, votes once each, the deposit is lost by the rejecting quorum alone.

use std::collections::BTreeSet;

use gantry_market::constants::{FLAG_BAD_OUTPUT, STAKE_UNIT};
use gantry_market::state::{
    Dispute, Fault, Keeper, Lease, Market, Node, Provider, FAULT_DISPUTE, KEEPER_ACTIVE, LEASE_AWARDED,
};

use super::money::is_open;
use super::{must, Act, Change, Verdict};
use crate::pda;

fn quorum(weight: u64, dispute: &Dispute) -> bool {
    let needed = u128::from(dispute.total_weight) * u128::from(dispute.quorum_bps);
    weight > 0 && u128::from(weight) * 10_000 >= needed
}

/// What the provider and the buy-back get of the deposit when this dispute is closed: half and half when it was
/// rejected, a quarter for the provider when nobody decided.
pub fn lost_deposit(act: &Act, dispute: &Dispute) -> (i128, i128) {
    if act.name != "dispute_resolve" || quorum(dispute.upheld_weight, dispute) {
        return (0, 0);
    }
    let deposit = i128::from(dispute.deposit);
    let (provider, buy_back) = if quorum(dispute.rejected_weight, dispute) {
        (deposit / 2, deposit - deposit / 2)
    } else {
        (deposit / 4, 0)
    };
    // A payout account that takes nothing loses its part to the buy-back.
    let owner =
        act.ledger.get::<Lease>(&dispute.lease).and_then(|lease| act.ledger.get::<Provider>(&lease.provider));
    let (provider, buy_back) = if owner.is_some_and(|owner| is_open(act, &owner.payout)) {
        (provider, buy_back)
    } else {
        (0, provider + buy_back)
    };
    // What the issuer has frozen stays where it is.
    let vault = is_open(act, &pda::credits_vault(&pda::credits(&dispute.customer)));
    let fees = is_open(act, &pda::fee_vault());
    (if vault { provider } else { 0 }, if vault && fees { buy_back } else { 0 })
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
            let upheld = quorum(dispute.upheld_weight, dispute);
            let rejected = quorum(dispute.rejected_weight, dispute);
            if upheld {
                must!(act.name == "dispute_uphold", "what is upheld becomes a fault", "{}: {at}", act.name);
                fault(act, dispute)?;
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
            let one = of_dispute(act) && after.disputes_lost == before.disputes_lost + 1;
            must!(one, "a dispute is lost when its slash is applied", "{}: {}", act.name, change.at);
        }
    }
    Ok(())
}

/// Whether the act applies the fault of a dispute.
fn of_dispute(act: &Act) -> bool {
    act.name == "slash_apply"
        && act.instruction.accounts.iter().any(|meta| {
            act.ledger.get::<Fault>(&meta.pubkey).is_some_and(|fault| fault.kind == FAULT_DISPUTE)
        })
}

/// The deposit and the possible slash, in plain integers.
fn terms(market: &Market, lease: &Lease, node: &Node) -> (u64, u64) {
    let params = &market.params;
    let share = u128::from(node.required_stake) * u128::from(lease.slash_bad_work_bps) / 10_000;
    let part = share * u128::from(lease.gpus) / u128::from(node.spec.gpus);
    let harm = u128::from(lease.paid) * u128::from(STAKE_UNIT) / u128::from(params.stake_price);
    let amount = part.max(harm * 5 / 2).min(u128::from(node.required_stake));
    let value = (amount * u128::from(params.stake_price)).div_ceil(u128::from(STAKE_UNIT));
    let cost = (value * 4 * 2_000 * u128::from(params.appeal_secs)).div_ceil(10_000 * 365 * 86_400);
    let tenth = u128::from(lease.paid / 10).min(u128::from(params.dispute_deposit));
    (tenth.max(cost) as u64, amount as u64)
}

fn opened(act: &Act, market: &Market, change: &Change<Dispute>, dispute: &Dispute) -> Verdict {
    let at = change.at;
    let lease = act.ledger.get::<Lease>(&dispute.lease);
    must!(lease.is_some(), "a dispute is of a lease", "{at}");
    let lease = lease.expect("just checked");
    must!(lease.disputed == 0 && lease.status > LEASE_AWARDED, "a lease that ran is disputed once", "{at}");
    let parties = (dispute.customer, dispute.node) == (lease.customer, lease.node);
    must!(parties && act.signed(&lease.customer), "the customer disputes its lease", "{at}");
    let node = act.ledger.get::<Node>(&lease.node);
    must!(node.is_some(), "a disputed lease and its node stay", "{at}");
    let (deposit, amount) = terms(market, lease, node.expect("just checked"));
    must!(
        dispute.deposit == deposit,
        "a dispute has its deposit",
        "{at}: {}, not {deposit}",
        dispute.deposit
    );
    must!(dispute.amount == amount, "a dispute holds the slash that it may cost", "{at}: {}", dispute.amount);
    let params = &market.params;
    let stored = (dispute.stake_price, dispute.appeal_secs, dispute.quorum_bps, dispute.finder_bps)
        == (params.stake_price, params.appeal_secs, params.quorum_bps, params.finder_bps);
    must!(stored, "a dispute keeps the terms of its day", "{at}");
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
            == (after.total_weight, after.deposit, after.opened_at, after.closes_at)
        && (before.amount, before.stake_price, before.appeal_secs, before.quorum_bps, before.finder_bps)
            == (after.amount, after.stake_price, after.appeal_secs, after.quorum_bps, after.finder_bps);
    must!(same, "a dispute's terms stay", "{}: {at}", act.name);
    let sides = |dispute: &Dispute| (bits(&dispute.upheld_voters), bits(&dispute.rejected_voters));
    let ((up, down), (up_after, down_after)) = (sides(before), sides(after));
    must!(up.is_subset(&up_after) && down.is_subset(&down_after), "votes are never taken back", "{at}");
    must!(up_after.is_disjoint(&down_after), "a keeper votes for one side", "{at}");
    let fresh: Vec<u16> = up_after.difference(&up).chain(down_after.difference(&down)).copied().collect();
    must!(fresh.len() == 1, "a keeper votes once", "{at}: {fresh:?}");
    let keeper = act.ledger.all::<Keeper>().find(|(_, keeper)| keeper.index == fresh[0]).map(|(_, k)| k);
    let fit = keeper.is_some_and(|keeper| {
        keeper.status == KEEPER_ACTIVE && keeper.active_since < before.opened_at && act.signed(&keeper.signer)
    });
    must!(fit && act.now < before.closes_at, "keepers active before a dispute vote in time", "{at}");
    let keeper = keeper.expect("just checked");
    let gained = (after.upheld_weight - before.upheld_weight, after.rejected_weight - before.rejected_weight);
    let upheld = up_after.len() > up.len();
    let want = if upheld { (keeper.weight, 0) } else { (0, keeper.weight) };
    must!(gained == want, "a vote weighs its keeper's weight", "{at}: {gained:?}");
    let all = u128::from(after.upheld_weight) + u128::from(after.rejected_weight);
    must!(all <= u128::from(after.total_weight), "votes weigh at most all", "{at}");
    Ok(())
}

fn fault(act: &Act, dispute: &Dispute) -> Verdict {
    let made = act.changes::<Fault>().find_map(|change| change.created().map(|fault| (change.at, *fault)));
    must!(made.is_some(), "what is upheld becomes a fault", "{}", dispute.lease);
    let (at, fault) = made.expect("just checked");
    let Some(lease) = act.ledger.get::<Lease>(&dispute.lease) else {
        must!(false, "a disputed lease and its node stay", "{at}");
        return Ok(());
    };
    must!(at == pda::dispute_fault(&fault.lease), "accounts lie where they derive", "{at}");
    let parties = (fault.node, fault.provider, fault.lease, fault.finder)
        == (dispute.node, lease.provider, dispute.lease, lease.customer);
    must!(parties, "a fault is of what was disputed", "{at}");
    let due = act.now + i64::from(dispute.appeal_secs);
    must!(fault.applicable_at == due, "an appeal has its time", "{at}: {} of {due}", fault.applicable_at);
    let free = act.ledger.get::<Node>(&dispute.node).map_or(0, |node| node.available_stake());
    let amount = dispute.amount.min(free);
    must!(fault.amount == amount, "a fault costs what the terms say", "{at}: {}", fault.amount);
    must!(fault.voters_before == dispute.opened_at, "a fault hears who could vote", "{at}");
    let votes = fault.total_weight == dispute.total_weight && fault.flags == FLAG_BAD_OUTPUT;
    must!(votes && fault.finder_bps <= 1_000, "a fault measures what the dispute did", "{at}");
    let say = (fault.kind, fault.dispute_kind) == (FAULT_DISPUTE, dispute.kind)
        && fault.voters_before == dispute.opened_at;
    must!(say, "an appeal is of those who could vote", "{at}");
    Ok(())
}
