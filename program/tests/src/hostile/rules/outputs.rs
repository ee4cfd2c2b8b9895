//! Redundant jobs: nothing is paid while outputs wait, and never for one that lost.

use std::collections::BTreeSet;

use gantry_market::constants::OUTPUT_TAG;
use gantry_market::math::hash::sha256_of;
use gantry_market::state::{
    Lease, Order, OUTPUT_ACCEPTED, OUTPUT_COMMITTED, OUTPUT_NONE, OUTPUT_REJECTED, OUTPUT_REVEALED,
    OUTPUT_WANTED, OUTPUT_WITHHELD,
};
use solana_address::Address;

use super::{must, Act, Change, Verdict};
use crate::testbed::DOMAIN;

pub fn check(act: &Act) -> Verdict {
    for change in act.changes::<Lease>() {
        if let Some(lease) = change.created() {
            let redundant = act.ledger.get::<Order>(&lease.order).is_some_and(|order| order.redundant == 1);
            let want = if redundant { OUTPUT_WANTED } else { OUTPUT_NONE };
            must!(lease.output == want, "a redundant job's output is wanted", "{}", change.at);
        }
        if let Some(lease) = change.closed() {
            let awarded = lease.status == gantry_market::state::LEASE_AWARDED;
            let over = matches!(lease.output, OUTPUT_NONE | OUTPUT_ACCEPTED | OUTPUT_REJECTED);
            must!(over || awarded, "outputs are compared before a close", "{}", change.at);
        }
        if let Some((before, after)) = change.both() {
            pay(act, &change, before, after)?;
            output(act, &change, before, after)?;
        }
    }
    for change in act.changes::<Order>() {
        let Some((before, after)) = change.both() else { continue };
        let terms = |order: &Order| (order.start_secs, order.settle_secs);
        must!(terms(before) == terms(after), "an order's terms stay", "{}: {}", act.name, change.at);
        let deadlines = |order: &Order| (order.outputs_by, order.reveal_by);
        must!(
            deadlines(before) == deadlines(after) || before.started == 0,
            "the deadlines of work that has begun stay",
            "{}: {}",
            act.name,
            change.at
        );
    }
    Ok(())
}

fn pay(act: &Act, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    if after.paid > before.paid || after.paid_secs > before.paid_secs {
        let due = matches!(before.output, OUTPUT_NONE | OUTPUT_ACCEPTED);
        must!(due, "nothing is paid for an output that waits or lost", "{}: {}", act.name, change.at);
    }
    Ok(())
}

fn output(act: &Act, change: &Change<Lease>, before: &Lease, after: &Lease) -> Verdict {
    let at = change.at;
    if (before.output, before.output_hash) == (after.output, after.output_hash) {
        return Ok(());
    }
    match (before.output, after.output) {
        (OUTPUT_WANTED, OUTPUT_COMMITTED) => {
            must!(act.signed(&before.node_key), "the machine commits to its output", "{at}");
        }
        (OUTPUT_COMMITTED, OUTPUT_REVEALED) => {
            let data = act.instruction.data.get(8..72).unwrap_or_default();
            let (shown, salt) = data.split_at(data.len() / 2);
            let parts: [&[u8]; 5] = [&OUTPUT_TAG, &DOMAIN, at.as_ref(), shown, salt];
            let right = sha256_of(&parts) == before.output_hash && after.output_hash == shown;
            must!(right && act.signed(&before.node_key), "the machine shows what it committed to", "{at}");
        }
        (OUTPUT_WITHHELD, OUTPUT_REJECTED) => {
            must!(act.name == "output_forfeit", "a withheld output is paid for", "{}: {at}", act.name);
            must!(before.output_hash == after.output_hash, "an output stays what it was", "{at}");
        }
        (OUTPUT_WANTED..=OUTPUT_REVEALED, OUTPUT_ACCEPTED | OUTPUT_REJECTED | OUTPUT_WITHHELD) => {
            let Some(order) = act.ledger.get::<Order>(&before.order) else {
                must!(false, "outputs are of an order", "{at}");
                return Ok(());
            };
            let shown = before.output == OUTPUT_REVEALED;
            // One voice for each provider, and none for one whose nodes contradict each other.
            let revealed: Vec<&Lease> = act
                .ledger
                .all::<Lease>()
                .map(|(_, other)| other)
                .filter(|other| other.order == before.order && other.output == OUTPUT_REVEALED)
                .collect();
            let voices = |same: bool| -> BTreeSet<Address> {
                let those = revealed.iter().filter(|other| (other.output_hash == before.output_hash) == same);
                those.map(|other| other.provider).collect()
            };
            let agree: BTreeSet<Address> = voices(true).difference(&voices(false)).copied().collect();
            let most = agree.len() * 2 > usize::from(order.nodes_wanted);
            let wins = shown && most;
            must!(
                wins == (after.output == OUTPUT_ACCEPTED),
                "the majority of all wanted is accepted, nobody else",
                "{at}: {}",
                after.output
            );
            let half = shown && agree.len() * 2 >= usize::from(order.nodes_wanted);
            let paid = after.output == OUTPUT_ACCEPTED;
            must!(paid || !half, "half of the nodes make nobody's work free", "{at}");
            let withheld = before.output == OUTPUT_COMMITTED;
            must!(withheld == (after.output == OUTPUT_WITHHELD), "a withheld output costs its node", "{at}");
            must!(before.output_hash == after.output_hash, "an output stays what it was", "{at}");
            // All of the job are decided at once.
            let open = act.ledger.all::<Lease>().any(|(other, lease)| {
                lease.order == before.order
                    && act.after::<Lease>(other).is_some_and(|lease| lease.output < OUTPUT_ACCEPTED)
            });
            must!(!open, "all outputs of a job are compared at once", "{at}");
        }
        other => must!(false, "an output goes one way", "{}: {at}: {other:?}", act.name),
    }
    Ok(())
}
