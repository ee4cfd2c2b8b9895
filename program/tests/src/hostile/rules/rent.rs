//! Rent: who pays it, who gets it back.

use std::collections::BTreeMap;

use gantry_market::state::{Credits, Keeper, Provider};
use solana_address::Address;

use super::{must, Act, Moved, Verdict};
use crate::hostile::entity::{Entity, Held};

fn wallet_of(act: &Act, at: &Address) -> Option<Address> {
    let provider = act.ledger.get::<Provider>(at).map(|found| found.wallet);
    let keeper = || act.ledger.get::<Keeper>(at).map(|found| found.wallet);
    let customer = || act.ledger.get::<Credits>(at).map(|found| found.customer);
    provider.or_else(keeper).or_else(customer)
}

/// Who gets the lamports of an account that closes; none for what never closes.
fn receiver(act: &Act, held: &Held) -> Option<Address> {
    match &held.entity {
        Entity::Provider(found) => Some(found.wallet),
        Entity::Node(found) => wallet_of(act, &found.provider),
        Entity::DeviceClaim(found) => Some(found.rent_payer),
        Entity::Keeper(found) => Some(found.wallet),
        Entity::Credits(found) => Some(found.customer),
        Entity::Order(found) => Some(found.rent_payer),
        Entity::Lease(found) => Some(found.rent_payer),
        Entity::Report(found) => Some(found.rent_payer),
        Entity::Fault(found) => Some(found.rent_payer),
        Entity::Payout(found) => Some(found.rent_payer),
        Entity::Dispute(found) => Some(found.customer),
        Entity::FraudProof(found) => Some(found.finder),
        Entity::Auction(found) => Some(found.rent_payer),
        Entity::Outage(found) => Some(found.rent_payer),
        Entity::Token(token) => wallet_of(act, &token.owner),
        Entity::Market(_)
        | Entity::Rewards(_)
        | Entity::GpuModel(_)
        | Entity::Mint { .. }
        | Entity::Foreign
        | Entity::Wallet
        | Entity::Unruled => None,
    }
}

fn is_wallet(held: &Option<Held>) -> bool {
    held.as_ref().is_none_or(|held| matches!(held.entity, Entity::Wallet))
}

fn lamports(held: &Option<Held>) -> i128 {
    held.as_ref().map_or(0, |held| i128::from(held.lamports))
}

/// Whether an account got longer: a report with one more root than it had a place for.
fn grew(act: &Act, moved: &Moved) -> bool {
    let roots = |held: &Option<Held>| held.as_ref().map_or(0, |held| held.tail.len());
    match act.name {
        "report_vote" => roots(&moved.after) == roots(&moved.before) + 1,
        _ => false,
    }
}

pub fn check(act: &Act) -> Verdict {
    let mut due: BTreeMap<Address, i128> = BTreeMap::new();
    let mut cost = 0;
    for moved in &act.moved {
        let (before, after) = (lamports(&moved.before), lamports(&moved.after));
        match (is_wallet(&moved.before), is_wallet(&moved.after)) {
            (true, true) => {}
            // Created, on top of what somebody may have sent there before.
            (true, false) => cost += after - before,
            (false, true) => {
                let to = moved.before.as_ref().and_then(|held| receiver(act, held));
                must!(to.is_some(), "this never closes", "{}: {}", act.name, moved.at);
                must!(moved.after.is_none(), "what closes is gone", "{}: {}", act.name, moved.at);
                *due.entry(to.expect("just checked")).or_default() += before;
            }
            // New bytes have rent of their own.
            (false, false) if grew(act, moved) && after >= before => cost += after - before,
            (false, false) => {
                must!(
                    before == after,
                    "rent stays where it is",
                    "{}: {} {before} to {after}",
                    act.name,
                    moved.at
                );
            }
        }
        if let Some(held) = &moved.after {
            let ours = !matches!(held.entity, Entity::Foreign);
            must!(ours, "no account goes to a foreign program", "{}: {}", act.name, moved.at);
        }
    }
    let mut paid = 0;
    for moved in act.moved.iter().filter(|moved| is_wallet(&moved.before) && is_wallet(&moved.after)) {
        let gained = lamports(&moved.after) - lamports(&moved.before);
        let rent = due.remove(&moved.at).unwrap_or(0);
        let spent = rent - gained;
        must!(
            spent == 0 || (spent > 0 && act.signed(&moved.at)),
            "rent goes back to its payer",
            "{}: {} gained {gained}, was due {rent}",
            act.name,
            moved.at
        );
        paid += spent;
    }
    // A wallet that both pays and receives nets out to no change and is not among the moved.
    let missing: i128 = due.iter().filter(|(to, _)| act.signed(to)).map(|(_, amount)| amount).sum();
    let lost: Vec<_> = due.iter().filter(|(to, amount)| !act.signed(to) && **amount != 0).collect();
    must!(lost.is_empty(), "rent arrives", "{}: {lost:?}", act.name);
    must!(paid + missing == cost, "rent is paid by a signer", "{}: paid {paid}, cost {cost}", act.name);
    Ok(())
}
