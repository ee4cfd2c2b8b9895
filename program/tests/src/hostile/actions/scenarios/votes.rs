use gantry_market::state::{
    vote_grace, Candidate, Keeper, Node, Report, KEEPER_ACTIVE, NODE_ACTIVE, REPORT_FINAL,
};
use solana_address::Address;

use super::super::proofs::unjust_award;
use super::super::reports::crowd;
use super::{market, recovered, voters};
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::leaves::tree;
use crate::{ix, pda};

/// Keepers vote for different roots, move as they like, come together, and then some want to move again.
pub fn split(s: &mut Scene) -> Option<Scenario> {
    let period = s.a.w.period();
    let mischief = 1 + s.below(3);
    let mut scenario = Scenario::default().then(recovered).then(|s| Some(crowd(s).unwrap_or_default()));
    scenario = scenario.then(move |s| divided(s, period));
    // One that voted comes to weigh less.
    let unjust = !s.once_in(4);
    for _ in 0..3 {
        scenario = scenario.then_if(unjust, |s| Some(unjust_award(s).unwrap_or_default()));
        scenario = scenario.then_if(unjust, move |s| lightened(s, period));
    }
    for _ in 0..mischief {
        scenario = scenario.then(move |s| moved(s, period));
    }
    Some(scenario.then(move |s| together(s, period)).then(move |s| moved(s, period)))
}

/// All keepers but one vote for what is so; the last one copies the final root when the grace is over.
pub fn late(s: &mut Scene) -> Option<Scenario> {
    let period = s.a.w.period();
    Some(Scenario::default().then(recovered).then(move |s| copied(s, period)))
}

fn copied(s: &mut Scene, period: u64) -> Option<Plan> {
    let (end, grace) = (end(s, period)?, vote_grace(market(s)?.params.period_secs));
    let (node, _) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let (root, proofs) = tree(&[s.a.w.good_leaf(node, Address::default(), period)]);
    s.memory.proofs.extend(proofs);
    let mut keepers = voters(s, end);
    let last = s.below(keepers.len().max(1));
    (last < keepers.len()).then(|| keepers.swap(0, last))?;
    let mut plan = vec![Step::Warp((end - s.a.now()).max(1))];
    for (wallet, _) in keepers.iter().skip(1) {
        plan.push(Step::Send(vec![ix::report_vote(s.who(wallet)?, period, root)]));
    }
    plan.push(Step::Warp(1 + grace));
    plan.push(Step::Send(vec![ix::report_vote(s.who(&keepers[0].0)?, period, root)]));
    Some(plan)
}

/// When the period has ended.
fn end(s: &Scene, period: u64) -> Option<i64> {
    Some((period as i64 + 1) * i64::from(market(s)?.params.period_secs))
}

/// The period ends, and most keepers vote: for what is so, or for one of a few other roots.
fn divided(s: &mut Scene, period: u64) -> Option<Plan> {
    let end = end(s, period)?;
    let (node, _) = s.any_where::<Node>(|node| node.status == NODE_ACTIVE)?;
    let leaf = s.a.w.good_leaf(node, Address::default(), period);
    let (root, proofs) = tree(&[leaf]);
    s.memory.proofs.extend(proofs);
    let roots = [root, s.r.bytes(), s.r.bytes(), s.r.bytes(), s.r.bytes(), s.r.bytes()];
    let different = 2 + s.below(roots.len() - 1);
    let mut plan = vec![];
    if s.a.now() < end {
        plan.push(Step::Warp(end - s.a.now()));
    }
    for (wallet, _) in voters(s, end) {
        if s.once_in(8) {
            continue;
        }
        let root = roots[s.below(different)];
        plan.push(Step::Send(vec![ix::report_vote(s.who(&wallet)?, period, root)]));
    }
    Some(plan)
}

/// The roots of the report.
fn roots(s: &Scene, period: u64) -> Option<Vec<Candidate>> {
    Some(s.a.ledger.held(&pda::report(period))?.roots())
}

/// Some keepers vote again, mostly for a root that others have voted for.
fn moved(s: &mut Scene, period: u64) -> Option<Plan> {
    let end = end(s, period)?;
    let all = voters(s, end);
    let created = s.a.ledger.get::<Report>(&pda::report(period))?.created_at;
    let lighter = |keeper: &Keeper| keeper.status == KEEPER_ACTIVE && keeper.weight_since >= created;
    let mut plan = vec![];
    for _ in 0..1 + s.below(4) {
        let lighter = s.any_where(lighter).filter(|_| s.once_in(2)).map(|(_, keeper)| keeper.wallet);
        let wallet = lighter.or(s.one(all.clone()).map(|(wallet, _)| wallet))?;
        let known = roots(s, period)?;
        let root = s.one(known).filter(|_| !s.once_in(12)).map_or_else(|| s.r.bytes(), |found| found.root);
        plan.push(Step::Send(vec![ix::report_vote(s.who(&wallet)?, period, root)]));
    }
    Some(plan)
}

/// Keepers that weigh less than when they voted go to the heaviest root that they have not voted for.
fn lightened(s: &mut Scene, period: u64) -> Option<Plan> {
    let Some(report) = s.a.ledger.get::<Report>(&pda::report(period)).copied() else { return Some(vec![]) };
    let lighter: Vec<(Address, u16)> =
        s.a.ledger
            .all::<Keeper>()
            .filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE && keeper.weight_since >= report.created_at)
            .map(|(_, keeper)| (keeper.wallet, keeper.index))
            .collect();
    let mut plan = vec![];
    for (wallet, index) in lighter {
        let voted = |voters: &[u8; 32]| voters[index as usize / 8] & (1 << (index % 8)) != 0;
        let heaviest = roots(s, period)?
            .into_iter()
            .filter(|found| !voted(&found.voters))
            .max_by_key(|found| found.weight);
        if let (Some(heaviest), true) = (heaviest, voted(&report.voters)) {
            plan.push(Step::Send(vec![ix::report_vote(s.who(&wallet)?, period, heaviest.root)]));
        }
    }
    Some(plan)
}

/// Everyone goes to the heaviest root.
fn together(s: &mut Scene, period: u64) -> Option<Plan> {
    let report = s.a.ledger.get::<Report>(&pda::report(period))?;
    if report.status == REPORT_FINAL {
        return Some(vec![]);
    }
    let end = end(s, period)?;
    let heaviest = roots(s, period)?.into_iter().max_by_key(|found| found.weight)?;
    let mut plan = vec![];
    for (wallet, _) in voters(s, end) {
        plan.push(Step::Send(vec![ix::report_vote(s.who(&wallet)?, period, heaviest.root)]));
    }
    Some(plan)
}
