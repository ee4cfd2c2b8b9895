//! At least half of every slash is burned at once, and no owner gets more than half of its own slash back: neither in
//! the instruction that takes it nor later.

use std::collections::BTreeMap;

use gantry_market::state::Fault;
use solana_address::Address;

use super::{broken, Flows, Owners, HALF, OWN};
use crate::hostile::ledger::Ledger;
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Slashes {
    /// What slashes took of each provider and keeper, and what of it came back to its owner later.
    sums: BTreeMap<Address, (i128, i128)>,
}

impl Slashes {
    pub fn check(&mut self, act: &Act, flows: &Flows, owners: &Owners) -> [Verdict; 3] {
        for (from, amount) in &flows.slashed {
            let (taken, back) = self.sums.entry(*from).or_default();
            *taken += amount;
            // The finder's part, where the owner found it itself.
            let gained = owners.owner(from).and_then(|owner| flows.owners.get(&owner)).copied();
            *back += gained.map_or(0, |gained| (gained + amount).max(0));
        }
        [burned(act, flows), at_once(act, flows, owners), self.came_back(act, flows, owners)]
    }

    /// What a fault that was applied before pays to the owner of the slashed node.
    fn came_back(&mut self, act: &Act, flows: &Flows, owners: &Owners) -> Verdict {
        if !flows.slashed.is_empty() {
            return Ok(());
        }
        for change in act.changes::<Fault>() {
            let from = change.either().provider;
            let (Some(owner), Some((taken, back))) = (owners.owner(&from), self.sums.get_mut(&from)) else {
                continue;
            };
            let own = flows.owed.iter().filter(|(wallet, _)| owners.owner(wallet) == Some(owner));
            *back += own.map(|(_, amount)| (*amount).max(0)).sum::<i128>();
            if *back * 2 > *taken {
                return broken(OWN, format!("{}: owner {owner} got back {back} of {taken}", act.name));
            }
        }
        Ok(())
    }

    pub fn at_end(&self, _: &Ledger) -> Verdict {
        Ok(())
    }
}

fn burned(act: &Act, flows: &Flows) -> Verdict {
    let taken = flows.taken();
    if flows.burned * 2 < taken {
        return broken(HALF, format!("{}: {} of {taken}", act.name, flows.burned));
    }
    Ok(())
}

/// What the owner of a slashed account loses in the same instruction, with all its wallets.
fn at_once(act: &Act, flows: &Flows, owners: &Owners) -> Verdict {
    for (from, amount) in &flows.slashed {
        let Some(owner) = owners.owner(from) else { continue };
        let change = flows.owners.get(&owner).copied().unwrap_or(0);
        if change * 2 > -amount {
            let what = format!("{}: owner {owner} lost {} by a slash of {amount}", act.name, -change);
            return broken(OWN, what);
        }
    }
    Ok(())
}
