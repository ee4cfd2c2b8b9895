//! A verdict's penalty needs more than two thirds of the weight, and less than a third only delays it: by the votes and
//! the signed statements that were seen, not by the weights that the program has written down.

use std::collections::BTreeMap;

use gantry_market::state::{Dispute, Fault, Keeper, Market, Report, KEEPER_ACTIVE};
use solana_address::Address;

use super::{broken, VERDICT, VETO};
use crate::hostile::rules::{Act, Verdict};
use crate::pda;

/// Keepers' wallets, with what each weighed when it spoke.
type Speakers = BTreeMap<Address, u64>;

#[derive(Clone, Default)]
pub struct Verdicts {
    /// Who voted for which root of a report, and all weight there was when the report was made.
    reports: BTreeMap<Address, (u64, BTreeMap<[u8; 32], Speakers>)>,
    /// Who voted for the customer, by dispute, and all weight there was when it was opened.
    disputes: BTreeMap<Address, (u64, Speakers)>,
    /// Who signed against a fault, and all weight that counts there.
    faults: BTreeMap<Address, (u64, Speakers)>,
}

fn weight(speakers: &Speakers) -> u128 {
    speakers.values().map(|weight| u128::from(*weight)).sum()
}

/// All weight of active keepers.
fn everyone(act: &Act) -> u64 {
    let active = act.ledger.all::<Keeper>().filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE);
    active.map(|(_, keeper)| keeper.weight).sum()
}

fn weighs(act: &Act, wallet: &Address) -> u64 {
    act.ledger.get::<Keeper>(&pda::keeper(wallet)).map_or(0, |keeper| keeper.weight)
}

impl Verdicts {
    pub fn check(&mut self, act: &Act) -> [Verdict; 2] {
        match act.name {
            "report_vote" => self.report_vote(act),
            "dispute_open" | "dispute_vote" => self.dispute_vote(act),
            _ => {}
        }
        let verdict = self.opened(act);
        [verdict, self.voided(act)]
    }

    fn report_vote(&mut self, act: &Act) {
        let Some(change) = act.changes::<Report>().next() else { return };
        let root: Option<[u8; 32]> = root_of(act);
        let (Some(root), Some(voter)) = (root, speaker(act)) else { return };
        if change.created().is_some() {
            self.reports.insert(change.at, (everyone(act), BTreeMap::new()));
        }
        let Some((_, roots)) = self.reports.get_mut(&change.at) else { return };
        roots.values_mut().for_each(|speakers| {
            speakers.remove(&voter);
        });
        roots.entry(root).or_default().insert(voter, weighs(act, &voter));
    }

    fn dispute_vote(&mut self, act: &Act) {
        for change in act.changes::<Dispute>() {
            if change.created().is_some() {
                self.disputes.insert(change.at, (everyone(act), Speakers::new()));
            }
            let Some((before, after)) = change.both() else { continue };
            if let Some(voter) = speaker(act).filter(|_| after.upheld_weight > before.upheld_weight) {
                let (_, speakers) = self.disputes.entry(change.at).or_default();
                speakers.insert(voter, weighs(act, &voter));
            }
        }
    }

    /// A fault that is opened has the votes for it.
    fn opened(&mut self, act: &Act) -> Verdict {
        for change in act.changes::<Fault>() {
            let Some(fault) = change.created() else { continue };
            let report = pda::report(fault.period);
            let (all, speakers) = if act.name == "dispute_uphold" {
                let closed =
                    act.changes::<Dispute>().find(|change| change.closed().is_some()).map(|change| change.at);
                closed.and_then(|at| self.disputes.remove(&at)).unwrap_or_default()
            } else if act.name == "fault_open" {
                let root = act.ledger.get::<Report>(&report).map_or([0; 32], |report| report.root);
                let known = self.reports.get(&report);
                known.map_or_else(Default::default, |(all, roots)| {
                    (*all, roots.get(&root).cloned().unwrap_or_default())
                })
            } else {
                continue;
            };
            self.faults.insert(change.at, (all, Speakers::new()));
            let (votes, all) = (weight(&speakers), u128::from(all));
            // Governance may set the quorum of disputes a little lower.
            let enough = if act.name == "fault_open" { votes * 3 > all * 2 } else { votes * 100 >= all * 66 };
            if !enough {
                let what = format!("{}: {votes} of {all} for {}", act.name, change.at);
                return broken(VERDICT, what);
            }
        }
        Ok(())
    }

    /// What is voided has a third against it.
    fn voided(&mut self, act: &Act) -> Verdict {
        for change in act.changes::<Fault>() {
            if act.name == "slash_appeal" {
                let signer = act.verified.first().map(|(key, _)| *key);
                let keeper = signer.and_then(|key| appellant(act, &key));
                if let (Some(keeper), Some((_, speakers))) = (keeper, self.faults.get_mut(&change.at)) {
                    speakers.insert(keeper, weighs(act, &keeper));
                }
            }
            let less = change.both().is_some_and(|(before, after)| before.flags & !after.flags != 0);
            let gone = change.closed().is_some();
            let Some((all, speakers)) = self.faults.get(&change.at) else { continue };
            let (all, against) = (u128::from(*all), weight(speakers));
            if (less || (gone && act.name == "slash_appeal")) && against * 3 <= all {
                return broken(VETO, format!("{}: {against} of {all} against {}", act.name, change.at));
            }
            if gone {
                self.faults.remove(&change.at);
            }
        }
        Ok(())
    }
}

/// The wallet of the keeper that acts.
fn speaker(act: &Act) -> Option<Address> {
    act.keeper().map(|keeper| keeper.wallet)
}

/// The wallet of the keeper that an appeal names, if the key has signed for it.
fn appellant(act: &Act, key: &Address) -> Option<Address> {
    let signs = |keeper: &&Keeper| keeper.signer == *key || keeper.former_signer == *key;
    act.keepers().find(signs).map(|keeper| keeper.wallet)
}

/// The root that a vote is for.
fn root_of(act: &Act) -> Option<[u8; 32]> {
    act.ledger.get::<Market>(&pda::market())?;
    act.instruction.data.get(16..48)?.try_into().ok()
}
