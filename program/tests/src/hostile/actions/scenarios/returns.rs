//! What comes back: an address that a new lease gets, a machine that slept, one that is mended, a keeper that was away.

use gantry_market::constants::{FLAG_EVIDENCE_FAILED, FLAG_WORK_FAILED};
use gantry_market::state::{Keeper, Lease, Node, Report, LEASE_RUNNING, NODE_HIBERNATED};
use solana_address::Address;

use super::cheats::{accused_of, applied, receipted, speaks_against};
use super::disputes::{ended, opened};
use super::{market, offered, recovered, reported, usable, voters, Job};
use crate::hostile::harness::KEEPERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::leaves::LeafData;
use crate::{ix, pda};

/// A customer ends a lease, closes it and orders the same again, at the same address: at once, and in the next period, in
/// which keepers say how the first one was.
pub fn reborn(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    let later = s.once_in(2);
    Some(
        job.begins()
            .then(move |s| closed(s, &job))
            .then_if(later, move |s| {
                let length = i64::from(market(s)?.params.period_secs);
                Some(vec![Step::Warp(length - s.a.now() % length)])
            })
            .then(move |s| {
                let customer = s.a.actors[job.who].wallet();
                let there = s.a.ledger.get::<Lease>(&job.lease).is_some();
                let close = there.then(|| ix::lease_close(&s.a.w, &customer, &job.lease));
                Some(close.map(|close| Step::Send(vec![close])).into_iter().collect())
            })
            .then(move |s| job.ordered(s))
            .then(move |s| job.started(s))
            .then(move |s| told_of_the_former(s, &job)),
    )
}

/// All that was served is paid, and the lease is over.
fn closed(s: &mut Scene, job: &Job) -> Option<Plan> {
    let lease = *s.a.ledger.get::<Lease>(&job.lease).filter(|lease| lease.status == LEASE_RUNNING)?;
    let customer = s.a.actors[job.who].wallet();
    let length = i64::from(market(s)?.params.period_secs);
    // In one period, where that is possible.
    let left = length - s.a.now() % length;
    let seconds = 1 + s.r.below(u64::try_from(left).ok()?.max(2) / 2) as i64;
    let paid = u32::try_from(s.a.now() + seconds - lease.started_at).ok()?;
    let mut plan = vec![Step::Warp(seconds)];
    plan.extend(receipted(s, job, paid)?);
    plan.push(Step::Send(vec![ix::lease_end(&s.a.w, &customer, &job.lease, 1)]));
    plan.push(Step::Send(vec![ix::lease_close(&s.a.w, &customer, &job.lease)]));
    Some(plan)
}

/// The report of the period before says that what had the address then was away.
fn told_of_the_former(s: &mut Scene, job: &Job) -> Option<Plan> {
    let lease = *s.a.ledger.get::<Lease>(&job.lease)?;
    let period = s.a.w.period().checked_sub(1)?;
    let leaf = LeafData {
        up_secs: 10,
        verified_secs: 5,
        downtime_secs: 50,
        ..s.a.w.good_leaf(lease.node, job.lease, period)
    };
    reported(s, period, &[leaf], &[0])
}

/// A machine without a lease sleeps for some periods, wakes up, and is found out in one of the next.
pub fn awake(s: &mut Scene) -> Option<Scenario> {
    let nodes = s.a.ledger.all::<Node>();
    let idle: Vec<Address> = nodes
        .filter(|(_, node)| usable(s, node) && !node.is_guaranteed() && node.open_leases == 0)
        .map(|(at, _)| *at)
        .collect();
    let node = s.one(idle)?;
    let job = Job::on(s, node)?;
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| {
                let state = *s.a.ledger.get::<Node>(&node)?;
                let key = state.node_key;
                let sleep = ix::node_offer(&key, &node, &state, state.price, NODE_HIBERNATED);
                let length = i64::from(market(s)?.params.period_secs);
                Some(vec![Step::Send(vec![sleep]), Step::Warp(length * (1 + s.below(4) as i64))])
            })
            // Nobody checks a machine that sleeps, so its period does not count as good.
            .then(move |s| {
                let period = s.a.w.period();
                let good = s.a.w.good_leaf(node, Address::default(), period);
                reported(s, period, &[LeafData { checks_passed: 0, checks_total: 0, ..good }], &[0])
            })
            .then(move |s| {
                let price = 1 + s.r.below(2_000_000);
                Some(vec![offered(s, &node, price)?])
            })
            .then(move |s| job.ordered(s))
            .then(move |s| job.started(s))
            .then(move |s| {
                let wait = i64::from(market(s)?.params.period_secs);
                Some(if s.once_in(2) { vec![] } else { vec![Step::Warp(wait)] })
            })
            .then(move |s| accused_of(s, &job, FLAG_EVIDENCE_FAILED)),
    )
}

/// A dispute is upheld while another fault holds all stake of the machine, or while a GPU of it is dead. Then keepers void
/// the other fault, or the owner brings the machine back.
pub fn disputed(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    let (flags, dies) = ([FLAG_EVIDENCE_FAILED, FLAG_WORK_FAILED][s.below(2)], s.once_in(2));
    let mut scenario = job
        .begins()
        .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
        .then_if(!dies, move |s| accused_of(s, &job, flags))
        .then(move |s| opened(s, &job, true))
        .then(move |s| all_uphold(s, &job))
        .then(move |s| ended(s, &job));
    if dies {
        return Some(scenario.then(move |s| {
            let key = s.a.ledger.get::<Node>(&job.node)?.node_key;
            let dead = ix::node_report_dead(&s.a.w, &key, &job.node);
            let mut plan = vec![Step::Send(vec![dead])];
            for lease in crate::hostile::actions::leases_of(s.a, &job.order) {
                let customer = s.a.actors[job.who].wallet();
                plan.push(Step::Send(vec![ix::lease_end(&s.a.w, &customer, &lease, 1)]));
            }
            plan.push(Step::Warp(1 + s.below(20) as i64));
            Some(plan)
        }));
    }
    for _ in 0..4 {
        // Until it is voided.
        scenario = scenario.then(move |s| Some(speaks_against(s, &job.node).unwrap_or_default()));
    }
    Some(scenario.then(move |s| applied(s, &job.node)))
}

fn all_uphold(s: &mut Scene, job: &Job) -> Option<Plan> {
    let opened_at = s.a.ledger.get::<gantry_market::state::Dispute>(&pda::dispute(&job.lease))?.opened_at;
    let all = voters(s, opened_at);
    all.iter()
        .map(|(wallet, _)| Some(Step::Send(vec![ix::dispute_vote(s.who(wallet)?, &job.lease, 1)])))
        .collect()
}

/// A keeper does not claim its share of a report, is idle until the others suspend it, and comes back.
pub fn unclaimed(s: &mut Scene) -> Option<Scenario> {
    let idle = KEEPERS[s.below(KEEPERS.len())];
    let job = Job::any(s)?;
    Some(
        job.begins()
            .then(move |s| closed(s, &job))
            .then(move |s| {
                let wait = 2 * i64::from(market(s)?.params.period_secs);
                s.a.ledger.get::<Lease>(&job.lease)?;
                let customer = s.a.actors[job.who].wallet();
                let close = ix::lease_close(&s.a.w, &customer, &job.lease);
                Some(vec![Step::Warp(wait), Step::Send(vec![close])])
            })
            .then(|s| {
                let period = s.a.w.period();
                reported(s, period, &[s.a.w.good_leaf(Address::default(), Address::default(), period)], &[])
            })
            .then(|s| Some(vec![Step::Warp(2 * i64::from(market(s)?.params.period_secs))]))
            .then(|s| {
                let last = s.a.ledger.all::<Report>().map(|(_, report)| report.period).max()?;
                Some(vec![Step::Send(vec![ix::rewards_accrue(&s.a.w, last)])])
            })
            .then(move |s| crate::hostile::actions::idles_of(s, idle))
            .then(move |s| {
                let who = &s.a.actors[idle];
                s.a.ledger.get::<Keeper>(&who.keeper())?;
                let reports = s.a.ledger.all::<Report>().filter(|(_, report)| report.reward_left > 0);
                let periods: Vec<u64> = reports.map(|(_, report)| report.period).collect();
                let claim = |period: &u64| Step::Send(vec![ix::rewards_claim(who, Some(*period))]);
                Some(periods.iter().map(claim).collect())
            }),
    )
}

/// An order for three machines of which a keeper awards one part now and then.
pub fn parted(s: &mut Scene) -> Option<Scenario> {
    let mut nodes: Vec<Address> =
        s.a.ledger.all::<Node>().filter(|(_, node)| usable(s, node)).map(|(at, _)| *at).collect();
    let mut job = Job::any(s)?;
    (job.args.nodes, job.args.gpus_per_node) = (3, 1);
    let (first, second) = (s.one(nodes.clone())?, {
        nodes.sort();
        s.one(nodes)?
    });
    let part = |job: Job, node: Address| Job { node, lease: pda::lease(&job.order, &node), ..job };
    let [first, second] = [part(job, first), part(job, second)];
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| job.ordered(s))
            .then(move |s| first.awarded(s))
            .then(move |s| {
                let mut plan = vec![Step::Warp(15 + s.below(14) as i64)];
                plan.extend(second.awarded(s)?);
                plan.push(Step::Warp(20 + s.below(10) as i64));
                Some(plan)
            }),
    )
}
