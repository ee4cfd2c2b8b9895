//! The accounts as the harness saw them last: the rules read this ledger instead of the chain.

use std::collections::BTreeMap;

use solana_address::Address;

use super::entity::{Held, Kind};

/// All accounts of interest, by address: the order is fixed, so that picks at random repeat.
#[derive(Clone, Default)]
pub struct Ledger(BTreeMap<Address, Held>);

impl Ledger {
    pub fn put(&mut self, at: Address, held: Option<Held>) {
        match held {
            Some(held) => self.0.insert(at, held),
            None => self.0.remove(&at),
        };
    }

    pub fn held(&self, at: &Address) -> Option<&Held> {
        self.0.get(at)
    }

    pub fn lamports(&self, at: &Address) -> u64 {
        self.0.get(at).map_or(0, |held| held.lamports)
    }

    pub fn get<T: Kind>(&self, at: &Address) -> Option<&T> {
        self.0.get(at).and_then(|held| T::of(&held.entity))
    }

    pub fn all<T: Kind>(&self) -> impl Iterator<Item = (&Address, &T)> {
        self.0.iter().filter_map(|(at, held)| T::of(&held.entity).map(|found| (at, found)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Address, &Held)> {
        self.0.iter()
    }
}
