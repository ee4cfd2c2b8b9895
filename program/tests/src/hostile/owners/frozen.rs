//! Frozen seconds are not paid: while a fault of the machine is open, and ever after it was applied, no lease of the node
//! is paid for a second of which the fault says that it may have been wrong. Voiding the fault releases them.

use std::collections::BTreeMap;

use gantry_market::constants::{FLAGS_NODE, FLAG_BAD_OUTPUT};
use gantry_market::state::{Fault, Lease, FAULT_APPLIED};
use solana_address::Address;

use super::{broken, FROZEN};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Frozen {
    /// From when on an open fault freezes, with its node, and its lease unless it is of the whole machine.
    open: BTreeMap<Address, (Address, Address, i64)>,
    /// Leases of which no second from here on is ever paid.
    lost: BTreeMap<Address, i64>,
}

/// The first second after what is paid.
fn paid_until(lease: &Lease) -> i64 {
    lease.started_at + i64::from(lease.downtime_secs) + i64::from(lease.paid_secs)
}

impl Frozen {
    pub fn check(&mut self, act: &Act) -> Verdict {
        let verdict = self.paid(act);
        self.note(act);
        verdict
    }

    fn paid(&self, act: &Act) -> Verdict {
        for change in act.changes::<Lease>() {
            let Some((before, after)) = change.both() else { continue };
            if after.paid_secs <= before.paid_secs {
                continue;
            }
            let open = self.open.values().filter(|(node, lease, _)| {
                *node == before.node && (*lease == Address::default() || *lease == change.at)
            });
            let bounds = open.map(|(_, _, from)| *from).chain(self.lost.get(&change.at).copied());
            let Some(bound) = bounds.min() else { continue };
            if paid_until(after) > bound.max(paid_until(before)) {
                let what =
                    format!("{}: {} until {}, frozen from {bound}", act.name, change.at, paid_until(after));
                return broken(FROZEN, what);
            }
        }
        Ok(())
    }

    fn note(&mut self, act: &Act) {
        for change in act.changes::<Fault>() {
            let fault = change.either();
            let stands = change.after.map_or(0, |after| after.flags);
            let freezes = stands & (FLAGS_NODE | FLAG_BAD_OUTPUT) != 0;
            if change.created().is_some() && freezes {
                self.open.insert(change.at, (fault.node, fault.lease, fault.window_from));
            }
            let applied = change.after.is_some_and(|after| after.status == FAULT_APPLIED);
            if (applied || !freezes) && self.open.remove(&change.at).is_some() && applied {
                let concerned = |(at, lease): &(&Address, &Lease)| {
                    lease.node == fault.node
                        && lease.started_at != 0
                        && (fault.lease == Address::default() || fault.lease == **at)
                };
                for (at, _) in act.ledger.all::<Lease>().filter(concerned) {
                    let from = self.lost.entry(*at).or_insert(i64::MAX);
                    *from = (*from).min(fault.window_from);
                }
            }
        }
        for change in act.changes::<Lease>().filter(|change| change.after.is_none()) {
            self.lost.remove(&change.at);
        }
    }
}
