//! Harm is settled money: a customer gets no more out of slashes for a lease than the lease has really paid, whatever
//! was found in how many faults; and what a pool gives for a lease reaches the lease's customer alone.

use std::collections::BTreeMap;

use gantry_market::constants::STAKE_UNIT;
use gantry_market::state::{Fault, Lease, FAULT_APPLIED};
use solana_address::Address;

use super::{broken, Flows, HARM};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Harm {
    /// Compensation by lease, µUSDC.
    got: BTreeMap<Address, i128>,
}

/// What stake is worth at a price of µUSDC for a whole token, rounded up.
pub fn worth(stake: i128, price: u64) -> i128 {
    let unit = i128::from(STAKE_UNIT);
    (stake * i128::from(price) + unit - 1) / unit
}

/// The fault that gives something, and the lease that it is for.
pub fn claim<'a>(act: &'a Act) -> Option<(Address, &'a Fault, Address, &'a Lease)> {
    let (at, before) =
        act.changes::<Fault>().find_map(|change| change.both().map(|(b, _)| (change.at, b)))?;
    let (lease, was) =
        act.changes::<Lease>().find_map(|change| change.both().map(|(b, _)| (change.at, b)))?;
    (before.status == FAULT_APPLIED).then_some((at, before, lease, was))
}

impl Harm {
    /// What faults have given for a lease so far.
    pub fn given(&self, lease: &Address) -> i128 {
        self.got.get(lease).copied().unwrap_or(0)
    }

    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        if let Some((_, fault, at, lease)) = claim(act) {
            let given = flows.credited();
            let own = flows.owed.get(&lease.customer).copied().unwrap_or(0).max(0);
            if given != own {
                return broken(HARM, format!("{}: {given} for {at}, {own} for its customer", act.name));
            }
            let got = self.got.entry(at).or_default();
            *got += worth(given, fault.stake_price);
            if *got > i128::from(lease.paid) {
                return broken(HARM, format!("{}: {got} for {at}, which paid {}", act.name, lease.paid));
            }
        }
        for change in act.changes::<Lease>().filter(|change| change.closed().is_some()) {
            self.got.remove(&change.at);
        }
        Ok(())
    }
}
