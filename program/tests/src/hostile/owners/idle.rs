//! Not acting costs whoever does not act: a node that committed to an output and does not show it forfeits twice what its
//! lease was worth before the lease is gone, as far as its stake goes; a keeper without a vote in time has no part of a
//! report's reward.

use std::collections::BTreeMap;

use gantry_market::constants::{SECONDS_PER_HOUR, STAKE_UNIT};
use gantry_market::state::{
    Keeper, Lease, Node, Report, Rewards, OUTPUT_COMMITTED, OUTPUT_WITHHELD, REPORT_FINAL,
};
use solana_address::Address;

use super::{broken, Flows, IDLE};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Idle {
    /// What withholding the output of a lease costs at least, by the price of stake of its award.
    twice: BTreeMap<Address, i128>,
    /// The root that a keeper voted for last, and whether that was in time, by report and wallet.
    votes: BTreeMap<(Address, Address), ([u8; 32], bool)>,
    finals: BTreeMap<Address, i64>,
}

impl Idle {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        self.withheld(act, flows)?;
        self.voted(act);
        self.rewarded(act)
    }

    fn withheld(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        for change in act.changes::<Lease>() {
            if let Some(lease) = change.created() {
                let whole =
                    i128::from(lease.price) * i128::from(lease.gpus) * i128::from(lease.duration_secs);
                let worth = whole / i128::from(SECONDS_PER_HOUR) * 2;
                let price = i128::from(market.params.stake_price.max(1));
                self.twice.insert(change.at, worth * i128::from(STAKE_UNIT) / price);
            }
            let before = change.before.map_or(0, |lease| lease.output);
            if change.after.is_none() {
                self.twice.remove(&change.at);
                if matches!(before, OUTPUT_COMMITTED | OUTPUT_WITHHELD) {
                    return broken(IDLE, format!("{}: {} never showed its output", act.name, change.at));
                }
            }
            let Some((was, is)) = change.both() else { continue };
            if was.output != OUTPUT_WITHHELD || is.output == OUTPUT_WITHHELD {
                continue;
            }
            let twice = self.twice.get(&change.at).copied().unwrap_or(0);
            let node = act.ledger.get::<Node>(&was.node);
            let most = node.map_or(0, |node| i128::from(node.available_stake()));
            if flows.taken() < twice.min(most) {
                let what = format!("{}: {} for an output worth {twice}, of {most}", act.name, flows.taken());
                return broken(IDLE, what);
            }
        }
        Ok(())
    }

    /// Votes as they were sent. A vote that comes later than a sixtieth of a period after the report was final, and five
    /// seconds at least, only repeats what the others have said.
    fn voted(&mut self, act: &Act) {
        let Some(market) = act.market() else { return };
        for change in act.changes::<Report>() {
            if change.after.is_none() {
                self.finals.remove(&change.at);
                self.votes.retain(|(report, _), _| *report != change.at);
                continue;
            }
            let known = self.finals.get(&change.at).copied();
            if act.name == "report_vote" {
                let grace = i64::from(market.params.period_secs / 60).max(5);
                let in_time = known.is_none_or(|at| act.now <= at + grace);
                let voter = act.keeper().map(|keeper| keeper.wallet);
                let root = act.instruction.data.get(16..48).and_then(|root| <[u8; 32]>::try_from(root).ok());
                if let (Some(voter), Some(root)) = (voter, root) {
                    let vote = self.votes.entry((change.at, voter)).or_insert((root, in_time));
                    if vote.0 != root {
                        *vote = (root, in_time);
                    }
                }
            }
            if known.is_none() && change.after.is_some_and(|report| report.status == REPORT_FINAL) {
                self.finals.insert(change.at, act.now);
            }
        }
    }

    fn rewarded(&self, act: &Act) -> Verdict {
        if act.name != "rewards_claim" {
            return Ok(());
        }
        let allocated = |rewards: &Rewards| i128::from(rewards.allocated);
        let paid = act.changes::<Rewards>().find_map(|change| change.both());
        let by_vote = paid.map_or(0, |(before, after)| allocated(before) - allocated(after));
        let report =
            act.changes::<Report>().find_map(|change| change.both().map(|(was, _)| (change.at, was.root)));
        let (true, Some((at, root))) = (by_vote > 0, report) else { return Ok(()) };
        let keepers =
            act.instruction.accounts.iter().filter_map(|meta| act.ledger.get::<Keeper>(&meta.pubkey));
        for keeper in keepers {
            let vote = self.votes.get(&(at, keeper.wallet));
            if vote.is_none_or(|(voted, in_time)| *voted != root || !in_time) {
                return broken(
                    IDLE,
                    format!("{by_vote} of {at} for {}, who did not vote in time", keeper.wallet),
                );
            }
        }
        Ok(())
    }
}
