//! A machine grows older, and with that more reputable, by the time in which it passed checks without a fault of its own:
//! time asleep does not count.

use std::collections::BTreeMap;

use gantry_market::constants::FLAGS_NODE;
use gantry_market::state::Node;
use solana_address::Address;

use super::{broken, AGE};
use crate::hostile::rules::{leaf, Act, Verdict};

/// Seconds of good periods, by node.
#[derive(Clone, Default)]
pub struct Ages(BTreeMap<Address, u64>);

impl Ages {
    pub fn check(&mut self, act: &Act) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        for change in act.changes::<Node>() {
            let Some((before, after)) = change.both() else {
                self.0.remove(&change.at);
                continue;
            };
            let told = (before.checks_total, before.uptime_bps, before.report_window)
                != (after.checks_total, after.uptime_bps, after.report_window);
            let good = leaf(act, market).filter(|leaf| {
                told && leaf.node == change.at && leaf.checks_passed > 0 && leaf.flags & FLAGS_NODE == 0
            });
            let passed = self.0.entry(change.at).or_default();
            *passed += good.map_or(0, |leaf| u64::from(leaf.up_secs));
            if after.up_secs > *passed {
                let what = format!("{}: {} of {passed} seconds", change.at, after.up_secs);
                return broken(AGE, what);
            }
        }
        Ok(())
    }
}
