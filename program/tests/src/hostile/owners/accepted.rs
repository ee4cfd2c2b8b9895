//! Redundant work: what the comparison accepted is paid although others are silent, and nobody's work is rejected
//! before the time is over that was ordered for it.

use std::collections::BTreeMap;

use gantry_market::state::{Lease, Node, OUTPUT_ACCEPTED, OUTPUT_COMMITTED, OUTPUT_REJECTED, OUTPUT_WANTED};
use solana_address::Address;

use super::{broken, ACCEPTED, TIME};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Accepted {
    /// When each lease's output was accepted.
    since: BTreeMap<Address, i64>,
}

impl Accepted {
    pub fn check(&mut self, act: &Act) -> Verdict {
        for change in act.changes::<Lease>() {
            let at = change.at;
            if let Some((before, after)) = change.both() {
                if before.output != OUTPUT_ACCEPTED && after.output == OUTPUT_ACCEPTED {
                    self.since.insert(at, act.now);
                }
                let silent = matches!(before.output, OUTPUT_WANTED | OUTPUT_COMMITTED);
                let until = before.started_at + i64::from(before.duration_secs);
                if silent && after.output == OUTPUT_REJECTED && before.started_at != 0 && act.now <= until {
                    let what = format!("{}: {at} is rejected at {}, works until {until}", act.name, act.now);
                    return broken(TIME, what);
                }
            }
            let Some(lease) = change.closed().filter(|lease| lease.output == OUTPUT_ACCEPTED) else {
                continue;
            };
            let since = self.since.remove(&at);
            // What a conviction of its node has taken is not owed, accepted or not.
            let convicted = act.ledger.get::<Node>(&lease.node).map_or(0, |node| node.convicted_from);
            let until = if convicted == 0 { act.now } else { act.now.min(convicted) };
            let claimed = lease.receipt_secs.max(lease.verified_secs).min(lease.billable_secs(until));
            let wait = i64::from(lease.settle_secs);
            if claimed > lease.paid_secs && since.is_none_or(|since| act.now <= since + wait) {
                let what = format!("{at}: {} of {claimed} seconds are paid", lease.paid_secs);
                return broken(ACCEPTED, what);
            }
        }
        Ok(())
    }
}
