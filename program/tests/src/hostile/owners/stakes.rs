//! Nodes' stakes never cross: what is slashed of a provider was put up for the one node that it is about, and neither
//! other nodes nor what the provider has asked back has any part in it.

use std::collections::BTreeMap;

use gantry_market::state::{Node, Provider};
use solana_address::Address;

use super::{broken, Flows, STAKES};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Stakes {
    /// What was put up for each node, and what was slashed of it since, base units of the stake token.
    nodes: BTreeMap<Address, (i128, i128)>,
}

impl Stakes {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let held = |node: Option<&Node>| node.map_or(0, |node| i128::from(node.stake));
        for change in act.changes::<Node>() {
            let more = held(change.after) - held(change.before);
            if change.closed().is_some() {
                self.nodes.remove(&change.at);
            } else if flows.slashed.is_empty() && more != 0 {
                let first = held(change.before);
                self.nodes.entry(change.at).or_insert((first, 0)).0 += more;
            }
        }
        for (from, amount) in &flows.slashed {
            let Some(before) = act.ledger.get::<Provider>(from) else { continue };
            if act.after::<Provider>(from).is_none_or(|after| after.unstaking != before.unstaking) {
                return broken(STAKES, format!("{}: what {from} has asked back is slashed", act.name));
            }
            let own = act.changes::<Node>().filter(|change| change.either().provider == *from);
            let fell: Vec<_> = own.filter(|change| held(change.after) < held(change.before)).collect();
            let [node] = &fell[..] else {
                return broken(STAKES, format!("{}: {amount} of {from}, of {} nodes", act.name, fell.len()));
            };
            let (put, gone) = self.nodes.entry(node.at).or_insert((held(node.before), 0));
            *gone += amount;
            if gone > put {
                return broken(STAKES, format!("{}: {gone} of the {put} of {}", act.name, node.at));
            }
        }
        Ok(())
    }
}
