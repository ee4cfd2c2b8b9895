//! A machine that sleeps without a lease harms nobody: a later fault is not about that time. Else the pool of its slash
//! would be divided by time in which it had no customer, and those that it cheated afterwards would get next to nothing.

use std::collections::BTreeMap;

use gantry_market::state::{Fault, Lease, Node, FAULT_REPORT, NODE_HIBERNATED};
use solana_address::Address;

use super::{broken, ASLEEP};
use crate::hostile::rules::{Act, Verdict};

/// When each machine woke up last.
#[derive(Clone, Default)]
pub struct Asleep(BTreeMap<Address, i64>);

impl Asleep {
    pub fn check(&mut self, act: &Act) -> Verdict {
        for change in act.changes::<Node>() {
            let Some((before, after)) = change.both() else {
                self.0.remove(&change.at);
                continue;
            };
            let woke = before.status == NODE_HIBERNATED && after.status != NODE_HIBERNATED;
            let served = act.ledger.all::<Lease>().any(|(_, lease)| lease.node == change.at);
            if woke && !served && act.name == "node_update" {
                self.0.insert(change.at, act.now);
            }
        }
        let Some(market) = act.market() else { return Ok(()) };
        for change in act.changes::<Fault>() {
            let Some(fault) = change.created() else { continue };
            if fault.kind != FAULT_REPORT || !fault.of_node() {
                continue;
            }
            // The period that it is about counts as a whole.
            let start = fault.period as i64 * i64::from(market.params.period_secs);
            let woke = self.0.get(&fault.node).copied().unwrap_or(i64::MIN);
            if fault.window_from < woke.min(start) {
                let what = format!("{}: from {}, awake since {woke}", fault.node, fault.window_from);
                return broken(ASLEEP, what);
            }
        }
        Ok(())
    }
}
