//! Reports speak of leases by their addresses: in a period one address is one lease, and what a report says of a period
//! in which a lease had not started is about another one.

use std::collections::BTreeMap;

use gantry_market::state::Lease;
use solana_address::Address;

use super::{broken, ADDRESS};
use crate::hostile::rules::{leaf, Act, Verdict};

/// The last second in which the former lease of an address was at work.
#[derive(Clone, Default)]
pub struct Addresses(BTreeMap<Address, i64>);

impl Addresses {
    pub fn check(&mut self, act: &Act) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        let secs = i64::from(market.params.period_secs);
        for change in act.changes::<Lease>() {
            if let Some(lease) = change.closed().filter(|lease| lease.started_at != 0) {
                self.0.insert(change.at, lease.occupied() - 1);
            }
            if change.created().is_some() {
                let last = self.0.get(&change.at).copied().unwrap_or(i64::MIN);
                if last.div_euclid(secs) >= act.now.div_euclid(secs) {
                    return broken(ADDRESS, format!("{}: one was at work until {last}", change.at));
                }
            }
            let (Some((before, after)), Some(leaf)) = (change.both(), leaf(act, market)) else { continue };
            let told = (before.verified_secs, before.downtime_secs, before.status)
                != (after.verified_secs, after.downtime_secs, after.status);
            let end = (leaf.period as i64 + 1) * secs;
            if told && before.started_at >= end {
                let what = format!("{} started at {}, a report until {end}", change.at, before.started_at);
                return broken(ADDRESS, what);
            }
        }
        Ok(())
    }
}
