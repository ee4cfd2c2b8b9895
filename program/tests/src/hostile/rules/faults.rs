//! Faults: their terms are written once, victims have their time and their part, appeals have their weight.

use std::collections::BTreeMap;

use gantry_market::constants::FLAGS_NODE;
use gantry_market::instructions::report::leaf::{lease_costs, node_costs};
use gantry_market::math::periods::period_end;
use gantry_market::state::{
    Fault, GpuModel, Keeper, Lease, Market, Node, Report, FAULT_APPLIED, KEEPER_ACTIVE, REPORT_FINAL,
};
use solana_address::Address;

use super::reports::bits;
use super::{must, Act, Change, Verdict};

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Fault>() {
        fault(act, market, &change)?;
    }
    Ok(())
}

fn fault(act: &Act, market: &Market, change: &Change<Fault>) -> Verdict {
    let at = change.at;
    if let Some(fault) = change.created() {
        must!(fault.finder_bps <= 1_000, "a finder gets a tenth at most", "{at}");
        // Others have the terms of their dispute or guarantee: see the rules about these.
        if act.name == "fault_open" {
            let due = act.now + i64::from(market.params.appeal_secs);
            must!(fault.applicable_at == due, "an appeal has its time", "{at}");
            opened(act, market, &at, fault)?;
        } else {
            let known = matches!(
                act.name,
                "dispute_uphold" | "guarantee_resolve" | "prove_wrong_cell" | "lease_outage"
            );
            must!(known, "a fault has its cause", "{}: {at}", act.name);
        }
    }
    if let Some((before, after)) = change.both() {
        let terms = |f: &Fault| {
            let who = (f.node, f.provider, f.lease, f.finder, f.rent_payer, f.kind, f.gpus);
            let times = (f.opened_at, f.applicable_at, f.voters_before, f.window_from, f.window_until);
            (who, times, (f.costs, f.total_weight, f.reference_price, f.stake_price, f.finder_bps))
        };
        must!(
            terms(before) == terms(after)
                && after.flags & !before.flags == 0
                && after.amount
                    <= if act.name == "slash_apply" {
                        before.cost().max(before.amount)
                    } else {
                        before.amount
                    },
            "a fault only shrinks",
            "{at}"
        );
        must!(after.pool_left <= after.pool && after.pool * 2 <= after.amount, "half is burned", "{at}");
        if after.flags != before.flags {
            appeal(act, change, before)?;
        }
        if after.status != before.status {
            let due = act.name == "slash_apply" && act.now >= before.applicable_at;
            must!(due, "a fault that is due is applied", "{}: {at}", act.name);
        } else if before.status == FAULT_APPLIED {
            compensated(act, &at, before, after)?;
        }
    }
    if let Some(fault) = change.closed() {
        if fault.status == FAULT_APPLIED {
            let over = act.now >= fault.claims_until || fault.pool_left == 0;
            must!(over && act.name == "slash_close", "victims have their time", "{}: {at}", act.name);
        } else {
            appeal(act, change, fault)?;
        }
    }
    Ok(())
}

/// A fault that a report shows: of the machine, or of one lease.
fn opened(act: &Act, market: &Market, at: &Address, fault: &Fault) -> Verdict {
    let report = act.ledger.get::<Report>(&crate::pda::report(fault.period));
    must!(report.is_some_and(|r| r.status == REPORT_FINAL), "a fault is of a report", "{at}");
    must!(fault.finder == Address::default(), "what a report finds has no finder", "{at}");
    let Some(node) = act.after::<Node>(&fault.node) else {
        must!(false, "a fault is of a node", "{at}");
        return Ok(());
    };
    must!(node.provider == fault.provider, "a fault is of a node", "{at}");
    let end = period_end(fault.period, market.params.period_secs).expect("fits");
    must!((fault.window_until, fault.voters_before) == (end, end), "a fault is of its period", "{at}");
    let model = act.ledger.all::<GpuModel>().find(|(_, model)| model.id == node.spec.model);
    let reference = model.map_or(0, |(_, model)| model.reference_price);
    let lease = act.after::<Lease>(&fault.lease);
    let Some(was) = act.ledger.get::<Node>(&fault.node) else {
        must!(false, "a fault is of a node that was there", "{at}");
        return Ok(());
    };
    let costs = match lease {
        None => node_costs(&market.params, was, act.now),
        Some(lease) => lease_costs(&market.params, node, lease, reference),
    };
    must!(costs.ok() == Some(fault.costs), "a fault costs what the terms say", "{at}");
    must!((fault.flags & FLAGS_NODE != 0) == lease.is_none(), "a fault is of the machine or a lease", "{at}");
    let reserved = fault.cost().min(was.available_stake());
    must!(fault.amount == reserved, "a fault reserves what it costs", "{at}");
    if lease.is_none() {
        let cause = was.cause_taken + fault.cost();
        must!(node.cause_taken == cause, "a cause costs what its gravest finding does", "{at}");
        let frozen = node.frozen_from != 0 && node.frozen_from <= fault.window_from;
        must!(frozen, "a fault of the machine freezes its seconds", "{at}");
    }
    Ok(())
}

/// What a lease gets is at most its own part and what it has paid, whoever else claims.
fn compensated(act: &Act, at: &Address, before: &Fault, after: &Fault) -> Verdict {
    let paid = before.pool_left - after.pool_left;
    let lease = act.changes::<Lease>().find_map(|change| change.both());
    if paid == 0 {
        return Ok(());
    }
    let Some((was, is)) = lease else {
        must!(false, "a claim is of a lease", "{}: {at}", act.name);
        return Ok(());
    };
    must!(
        was.node == before.node && paid <= before.part_of(was).unwrap_or(0),
        "a claim is its own part",
        "{at}"
    );
    let price = u128::from(was.price.min(before.reference_price)) * u128::from(was.gpus);
    let most = price * u128::from(was.paid_secs) / 3_600;
    must!(u128::from(is.compensated) <= most, "what was paid is made good once", "{at}");
    Ok(())
}

/// A flag falls when keepers with more than a third of the weight, active in the period, have signed against it.
fn appeal(act: &Act, change: &Change<Fault>, before: &Fault) -> Verdict {
    let at = change.at;
    must!(act.now < before.applicable_at, "appeals are in time", "{at}");
    let signer =
        act.verified.first().and_then(|(key, _)| act.keepers().find(|k| k.answers_for(key, act.now)));
    must!(signer.is_some(), "a keeper's statement speaks against a fault", "{at}");
    let keeper = signer.expect("just checked");
    let fit = keeper.status == KEEPER_ACTIVE && keeper.active_since < before.voters_before;
    must!(fit, "only keepers that could vote speak", "{at}");
    let others = bits(&before.appellants);
    must!(!others.contains(&keeper.index), "a keeper speaks once", "{at}");
    let known = act.ledger.all::<Keeper>().filter(|(_, k)| others.contains(&k.index));
    let weight: u128 = known.map(|(_, k)| u128::from(k.weight)).sum::<u128>() + u128::from(keeper.weight);
    // Keepers that left since are not in the ledger any more: what they weighed stays counted.
    let counted = u128::from(before.appeal_weight) + u128::from(keeper.weight);
    must!(
        weight.max(counted) * 3 > u128::from(before.total_weight),
        "an appeal needs more than a third",
        "{at}: {weight} of {}",
        before.total_weight
    );
    Ok(())
}

/// What an act does to slashed stake.
#[derive(Default)]
pub struct Shares {
    /// Who is owed what now, by beneficiary and source.
    pub owed: BTreeMap<(Address, Address), i128>,
    pub burned: i128,
    /// What comes into the payout vault, or leaves it for the fire.
    pub held: i128,
}

/// What leases are given of pools, and what is left of them at the end.
pub fn pools(act: &Act) -> Shares {
    let mut shares = Shares::default();
    for change in act.changes::<Fault>() {
        if let Some((before, after)) = change.both().filter(|(before, after)| before.status == after.status) {
            let customer =
                act.changes::<Lease>().find_map(|lease| lease.both()).map(|(lease, _)| lease.customer);
            let given = i128::from(before.pool_left) - i128::from(after.pool_left);
            *shares.owed.entry((customer.unwrap_or_default(), change.at)).or_default() += given;
        }
        if let Some(closed) = change.closed() {
            shares.burned += i128::from(closed.pool_left);
            shares.held -= i128::from(closed.pool_left);
        }
    }
    shares
}
