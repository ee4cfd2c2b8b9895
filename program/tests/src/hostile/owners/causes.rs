//! One cause is paid for once: between two times that a wallet says its node is mended, all slashes for what was wrong
//! with the machine together take no more than the gravest finding alone would, in whatever order they were found.

use std::collections::BTreeMap;

use gantry_market::constants::{
    BPS, FLAGS_NODE, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_SLOW, FLAG_SPEC_MISMATCH,
    FLAG_WORK_FAILED, RELAPSE_SECS,
};
use gantry_market::state::{Fault, Market, Node, FAULT_APPLIED, FAULT_REPORT, FAULT_WORK, NODE_SUSPENDED};
use solana_address::Address;

use super::{broken, Flows, CAUSE};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Causes {
    /// What the gravest finding of a node costs, and what was taken, since it was mended.
    nodes: BTreeMap<Address, (u128, i128)>,
    /// The nodes of open faults, with what each costs.
    open: BTreeMap<Address, (Address, u128)>,
}

/// The share of its stake that a finding costs a node, doubled with each relapse within a year.
fn due(node: &Node, bps: u16, now: i64) -> u128 {
    let recent = now < node.mended_at.saturating_add(RELAPSE_SECS);
    let times = if recent { u32::from(node.relapses.min(14)) } else { 0 };
    let share = (u128::from(bps) << times).min(u128::from(BPS));
    u128::from(node.required_stake) * share / u128::from(BPS)
}

/// The share for what a report says of a machine, or for work of it that was proven wrong.
fn share(market: &Market, fault: &Fault) -> u16 {
    if fault.kind == FAULT_WORK {
        return market.params.slash_bad_work_bps;
    }
    let flags = fault.flags;
    let fraud = FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED | FLAG_SPEC_MISMATCH | FLAG_SLOW;
    let of = |mask: u16, bps: u16| if flags & mask != 0 { bps } else { 0 };
    of(fraud, market.params.slash_fraud_bps).max(of(FLAG_WORK_FAILED, market.params.slash_work_failed_bps))
}

impl Causes {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        self.mended(act);
        for change in act.changes::<Fault>() {
            let fault = change.either();
            let of_report = fault.kind == FAULT_REPORT && fault.flags & FLAGS_NODE != 0;
            if !of_report && fault.kind != FAULT_WORK {
                continue;
            }
            if let (true, Some(node)) = (change.created().is_some(), act.ledger.get::<Node>(&fault.node)) {
                let due = due(node, share(market, fault), act.now);
                self.open.insert(change.at, (fault.node, due));
                self.found(&fault.node, due);
            } else if change.after.is_none_or(|after| after.status == FAULT_APPLIED) {
                self.open.remove(&change.at);
            }
            if act.name == "slash_apply" {
                self.took(act, &fault.node, flows)?;
            }
        }
        Ok(())
    }

    /// What is found from now on has another cause; what is open stays of the former one.
    fn mended(&mut self, act: &Act) {
        for change in act.changes::<Node>() {
            let again = change.both().is_some_and(|(before, after)| {
                before.status == NODE_SUSPENDED && after.status != NODE_SUSPENDED && act.name == "node_update"
            });
            if again || change.after.is_none() {
                self.nodes.remove(&change.at);
                let open: Vec<u128> =
                    self.open.values().filter(|(node, _)| *node == change.at).map(|(_, due)| *due).collect();
                open.into_iter().for_each(|due| self.found(&change.at, due));
            }
        }
    }

    fn found(&mut self, node: &Address, due: u128) {
        let (gravest, _) = self.nodes.entry(*node).or_default();
        *gravest = (*gravest).max(due);
    }

    fn took(&mut self, act: &Act, node: &Address, flows: &Flows) -> Verdict {
        let (gravest, taken) = self.nodes.entry(*node).or_default();
        *taken += flows.taken();
        if *taken > *gravest as i128 {
            return broken(
                CAUSE,
                format!("{}: {taken} of {node}, its gravest finding costs {gravest}", act.name),
            );
        }
        Ok(())
    }
}
