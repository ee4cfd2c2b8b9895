//! Silence is not proof: a machine that was only silent loses at most what an hour of the lease costs, at the price of the
//! stake token of when it was found, and nothing of what others hold.

use std::collections::BTreeMap;

use gantry_market::constants::{FLAG_OFFLINE, STAKE_UNIT};
use gantry_market::state::{Fault, Lease};
use solana_address::Address;

use super::{broken, Flows, SILENT};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Silence {
    /// What an hour of its lease costs in stake, by fault.
    hour: BTreeMap<Address, i128>,
}

impl Silence {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        for change in act.changes::<Fault>() {
            if let Some(fault) = change.created() {
                let lease = act.after::<Lease>(&fault.lease);
                let hour = lease.map_or(0, |lease| i128::from(lease.price) * i128::from(lease.gpus));
                self.hour.insert(
                    change.at,
                    hour * i128::from(STAKE_UNIT) / i128::from(market.params.stake_price.max(1)),
                );
            }
            let only = change.before.is_some_and(|before| before.flags == FLAG_OFFLINE);
            let hour = self.hour.get(&change.at).copied().unwrap_or(0);
            if only && flows.taken() > hour {
                let what = format!("{}: {} of {}, an hour is {hour}", act.name, flows.taken(), change.at);
                return broken(SILENT, what);
            }
            if change.after.is_none() {
                self.hour.remove(&change.at);
            }
        }
        Ok(())
    }
}
