//! The pool of a fault: what a slash did not burn at once, nor owe to a finder. Each lease has its own part of it, which
//! follows from the fault's terms and from the lease alone; all parts together are no more than the pool, and what is
//! left is burned.

use std::collections::BTreeMap;

use gantry_market::constants::{SECONDS_PER_HOUR, STAKE_UNIT};
use gantry_market::state::{Fault, Lease};
use solana_address::Address;

use super::harm::{claim, Harm};
use super::{broken, Flows, ORDER, POOL};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Pools {
    /// What lies in the pool of a fault, and what it has given.
    held: BTreeMap<Address, (i128, i128)>,
}

impl Pools {
    pub fn check(&mut self, act: &Act, flows: &Flows, harm: &Harm) -> [Verdict; 2] {
        let order = claims_its_part(act, flows, harm);
        [order, self.sums(act, flows)]
    }

    fn sums(&mut self, act: &Act, flows: &Flows) -> Verdict {
        for change in act.changes::<Fault>() {
            if !flows.slashed.is_empty() && change.after.is_some() {
                self.held.insert(change.at, (flows.taken() - flows.burned - flows.credited(), 0));
            } else if let Some((held, given)) = self.held.get_mut(&change.at) {
                *given += flows.credited();
                if given > held {
                    return broken(POOL, format!("{}: {given} of {held} of {}", act.name, change.at));
                }
            }
            let (true, Some((held, given))) = (change.after.is_none(), self.held.remove(&change.at)) else {
                continue;
            };
            if flows.burned != held - given {
                let what =
                    format!("{}: {} burned, {} left of {}", act.name, flows.burned, held - given, change.at);
                return broken(POOL, what);
            }
        }
        Ok(())
    }
}

/// What a lease gets is its own part, or what it has lost if that is less: no matter who else has claimed before, how
/// much is left, and who asks.
fn claims_its_part(act: &Act, flows: &Flows, harm: &Harm) -> Verdict {
    let Some((at, fault, lease_at, lease)) = claim(act) else { return Ok(()) };
    let due = part(fault, lease).min(lost(fault, lease, harm.given(&lease_at)));
    let given = flows.credited();
    if given != due {
        return broken(ORDER, format!("{}: {given} for {lease_at} of {at}, its part is {due}", act.name));
    }
    Ok(())
}

/// Seconds that two spans of time share.
fn shared(one: (i64, i64), other: (i64, i64)) -> i128 {
    i128::from(one.1.min(other.1)).saturating_sub(i128::from(one.0.max(other.0))).max(0)
}

/// GPU-seconds of the lease in the fault's window, of all that there are.
fn part(fault: &Fault, lease: &Lease) -> i128 {
    let until = [lease.occupied_until, lease.ended_at].into_iter().find(|until| *until != 0);
    let window = (fault.window_from, fault.window_until);
    let own =
        shared((lease.started_at, until.unwrap_or(lease.funded_until)), window) * i128::from(lease.gpus);
    let all = i128::from(window.1 - window.0) * i128::from(fault.gpus);
    if all == 0 {
        0
    } else {
        i128::from(fault.pool) * own / all
    }
}

/// What was paid for seconds in the window at no more than the reference price, as far as no fault has given it back.
fn lost(fault: &Fault, lease: &Lease, given: i128) -> i128 {
    let price = i128::from(lease.price.min(fault.reference_price)) * i128::from(lease.gpus);
    let worth = |seconds: i128| price * seconds / i128::from(SECONDS_PER_HOUR);
    let all = i128::from(lease.paid_secs);
    let paid_until = lease.started_at + i64::from(lease.downtime_secs) + i64::from(lease.paid_secs);
    let within = shared((lease.started_at, paid_until), (fault.window_from, fault.window_until)).min(all);
    let left = worth(within).min((worth(all) - given).max(0));
    left * i128::from(STAKE_UNIT) / i128::from(fault.stake_price.max(1))
}
