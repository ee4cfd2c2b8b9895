//! Exit delays hold in value: stake and bond reach a wallet only after the delay that a wallet that asks for them has
//! to wait, whichever way they go.

use std::collections::BTreeMap;

use gantry_market::state::{Fault, Keeper, Payout, Provider, KEEPER_EXITING, KEEPER_SLASHED};
use solana_address::Address;

use super::{broken, Flows, EXIT};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Exits {
    /// When what was asked for last may leave, by provider's or keeper's account.
    due: BTreeMap<Address, i64>,
    /// When what a payout holds may leave.
    payouts: BTreeMap<Address, i64>,
    /// What the market made stake wait for when a fault was opened.
    waits: BTreeMap<Address, i64>,
}

impl Exits {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        for (from, amount) in &flows.left {
            // It holds nothing of its own any more: what leaves with it was sent to its vault by somebody.
            if act.name == "provider_close" {
                continue;
            }
            let due = self.due.get(from).copied();
            if due.is_none_or(|due| act.now < due) {
                return broken(EXIT, format!("{}: {amount} of {from} at {}, due {due:?}", act.name, act.now));
            }
        }
        for change in act.changes::<Provider>() {
            let asked = |provider: Option<&Provider>| provider.map_or(0, |provider| provider.unstaking);
            if asked(change.after) > asked(change.before) {
                let wait = i64::from(market.params.unstake_cooldown_secs);
                self.due.insert(change.at, act.now + wait);
            }
        }
        for change in act.changes::<Keeper>() {
            let leaves = |keeper: Option<&Keeper>| {
                keeper.is_some_and(|keeper| matches!(keeper.status, KEEPER_EXITING | KEEPER_SLASHED))
            };
            if leaves(change.after) && !leaves(change.before) {
                let wait = i64::from(market.params.keeper_exit_secs);
                self.due.insert(change.at, act.now + wait);
            }
            if change.closed().is_some() {
                self.due.remove(&change.at);
            }
        }
        self.payouts(act, flows)?;
        if flows.slashed.is_empty() {
            return Ok(());
        }
        // Whoever it is: a slash that reaches a wallet at once is a way out without a delay.
        match flows.arrived.iter().find(|(_, amount)| **amount > 0) {
            Some((wallet, amount)) => broken(EXIT, format!("{}: {amount} to {wallet} at once", act.name)),
            None => Ok(()),
        }
    }

    /// What waits for a wallet waits as long, from when it is its own, as what a provider or keeper asks back: for a fault
    /// as long as when it was opened.
    fn payouts(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        let bond = flows.slashed.iter().any(|(from, _)| act.ledger.get::<Keeper>(from).is_some());
        let params = &market.params;
        for change in act.changes::<Fault>().filter(|change| change.created().is_some()) {
            self.waits.insert(change.at, i64::from(params.unstake_cooldown_secs));
        }
        let now = i64::from(if bond { params.keeper_exit_secs } else { params.unstake_cooldown_secs });
        for change in act.changes::<Payout>() {
            let amount = |payout: Option<&Payout>| payout.map_or(0, |payout| payout.amount);
            if amount(change.after) > amount(change.before) {
                let wait = self.waits.get(&change.either().source).copied().unwrap_or(now);
                let due = self.payouts.entry(change.at).or_insert(i64::MIN);
                *due = (*due).max(act.now + wait);
            }
            let Some(payout) = change.closed() else { continue };
            let due = self.payouts.remove(&change.at);
            if due.is_none_or(|due| act.now < due) {
                return broken(EXIT, format!("{}: {} at {}, due {due:?}", act.name, payout.amount, act.now));
            }
            let came = flows.arrived.get(&payout.beneficiary).copied().unwrap_or(0);
            if came != i128::from(payout.amount) {
                return broken(EXIT, format!("{}: {came} of {} reach their wallet", act.name, payout.amount));
            }
        }
        for change in act.changes::<Fault>().filter(|change| change.closed().is_some()) {
            self.waits.remove(&change.at);
        }
        Ok(())
    }
}
