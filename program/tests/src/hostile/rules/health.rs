//! What a node keeps for proofs: how many GPUs were free, and when a report called it unhealthy.

use gantry_market::constants::FLAG_UNHEALTHY;
use gantry_market::state::{Lease, Market, Node, Order, ORDER_OPEN};

use super::reports::leaf;
use super::{must, Act, Verdict};

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Node>() {
        let at = change.at;
        let Some(after) = change.after else { continue };
        let sound = after.availability.is_sound(after.free_gpus()).unwrap_or(false);
        must!(sound, "a node knows what is free", "{at}");
        let Some(before) = change.before else { continue };
        // Whatever was not free at a time does not become so afterwards, nor is the present forgotten.
        for time in before.availability.since.into_iter().filter(|time| *time != 0) {
            let then = |node: &Node| node.availability.free_throughout(time, time);
            let kept = then(after).is_none_or(|free| then(before).is_some_and(|was| free <= was));
            must!(kept, "nobody makes GPUs free that were taken", "{at} at {time}");
        }
        let spell = (before.unhealthy, after.unhealthy);
        let reported = matches!(act.name, "report_apply" | "fault_open" | "outage_vote");
        must!(spell.0 == spell.1 || reported, "a report says whether a machine is well", "{at}");
        let begins = spell.1.since != spell.0.since;
        let flagged = leaf(act, market).is_some_and(|leaf| leaf.flags & FLAG_UNHEALTHY != 0);
        let longest = act.now + 3 * i64::from(market.params.period_secs);
        let dated = spell.1.since == act.now && act.now < spell.1.until && spell.1.until <= longest;
        // What the keepers' votes come to is in the rules about outages.
        let right = act.name == "outage_vote" || (flagged && dated);
        must!(!begins || right, "a machine is unhealthy from the report on", "{at}");
    }
    for change in act.changes::<Lease>() {
        let Some(lease) = change.created() else { continue };
        let Some((order, node)) =
            act.ledger.get::<Order>(&lease.order).zip(act.ledger.get::<Node>(&lease.node))
        else {
            continue;
        };
        let asked_at =
            if order.status == ORDER_OPEN { order.created_at.max(order.auction_close) } else { act.now };
        let (since, until) = (node.unhealthy.since, node.unhealthy.until);
        let well = act.now >= until || asked_at < since;
        must!(well, "an unhealthy machine gets no new orders", "{}: {since} to {until}", change.at);
    }
    Ok(())
}
