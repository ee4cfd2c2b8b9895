//! An order remembers which nodes it had by marks. Nobody knows before an order which mark a node will have in it. Else a
//! provider could try keys until its own node has the mark of a rival, which then cannot prove that it was passed over.

use std::collections::{BTreeMap, BTreeSet};

use gantry_market::state::{Lease, Order};
use solana_address::Address;

use super::{broken, MARK};
use crate::hostile::rules::{Act, Verdict};

/// Orders in which a node has the same mark by chance: two are, three are not.
const BY_CHANCE: usize = 2;

#[derive(Clone, Default)]
pub struct Marks(BTreeMap<(Address, [u64; 2]), BTreeSet<Address>>);

impl Marks {
    pub fn check(&mut self, act: &Act) -> Verdict {
        let Some(lease) = act.changes::<Lease>().find_map(|change| change.created()) else { return Ok(()) };
        for change in act.changes::<Order>() {
            let Some((before, after)) = change.both() else { continue };
            if before.awarded_nodes != [0; 2] {
                continue;
            }
            let orders = self.0.entry((lease.node, after.awarded_nodes)).or_default();
            orders.insert(change.at);
            if orders.len() > BY_CHANCE {
                return broken(MARK, format!("{} has one mark in {orders:?}", lease.node));
            }
        }
        Ok(())
    }
}
