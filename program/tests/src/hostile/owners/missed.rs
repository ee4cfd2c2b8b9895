//! Who takes an order and does not start it gets no other one for twice the time that it had: a node that asks nearly
//! nothing would otherwise take every order for ever, at no cost.

use std::collections::BTreeMap;

use gantry_market::state::{Lease, Node, Order, ORDER_EXPIRED, ORDER_OPEN};
use solana_address::Address;

use super::{broken, MISSED};
use crate::hostile::rules::{Act, Verdict};

/// When each node did not start what it had, and until when it waits for that.
#[derive(Clone, Default)]
pub struct Missed(BTreeMap<Address, (i64, i64)>);

impl Missed {
    pub fn check(&mut self, act: &Act) -> Verdict {
        for change in act.changes::<Node>().filter(|change| change.after.is_none()) {
            self.0.remove(&change.at);
        }
        for change in act.changes::<Lease>() {
            let Some(order) = act.ledger.get::<Order>(&change.either().order) else { continue };
            if let Some(lease) = change.created() {
                // A lease that moves was not ordered from this node: the request begins now.
                let open = order.status == ORDER_OPEN;
                let asked = if open { order.created_at.max(order.auction_close) } else { act.now };
                let (since, until) = self.0.get(&lease.node).copied().unwrap_or_default();
                if asked >= since && act.now < until {
                    let what = format!("{} gets {}, waits until {until}", lease.node, change.at);
                    return broken(MISSED, what);
                }
            }
            // Of an order that nobody completed there was nothing to start, nor at a price that fell.
            let Some(lease) = change.closed().filter(|_| act.name == "lease_abort") else { continue };
            let whole = lease.continues == 1 || order.status != ORDER_EXPIRED;
            if whole && lease.repriced == 0 {
                let until = act.now + 2 * i64::from(order.start_secs);
                self.0.insert(lease.node, (act.now, until));
            }
        }
        Ok(())
    }
}
