use gantry_market::state::{Credits, Dispute};

use super::{funded, market, voters, Job};
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// A dispute from its lease to its end: by all keepers, or by more than half of the weight that is no quorum.
pub fn decided(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    let poor = s.once_in(4);
    Some(
        job.begins()
            .then(move |s| if poor { spent(s, &job) } else { Some(vec![]) })
            .then(move |s| opened(s, &job, !poor))
            .then(move |s| voted(s, &job))
            .then(move |s| ended(s, &job)),
    )
}

/// The customer takes out so much that a deposit is no longer free.
fn spent(s: &mut Scene, job: &Job) -> Option<Plan> {
    let who = &s.a.actors[job.who];
    let credits = s.a.ledger.get::<Credits>(&who.credits())?;
    let free = credits.balance.saturating_sub(credits.reserved);
    let left = 0;
    if free <= left {
        return Some(vec![]);
    }
    Some(vec![Step::Send(vec![ix::credits_withdraw(who, free - left)])])
}

pub(super) fn opened(s: &mut Scene, job: &Job, rich: bool) -> Option<Plan> {
    s.a.ledger.get::<gantry_market::state::Lease>(&job.lease)?;
    // At most: with the stakes and times of these markets the floor lies below it.
    let deposit = market(s)?.params.dispute_deposit;
    let mut plan = if rich { funded(s, job.who, deposit) } else { vec![] };
    let hash = s.r.bytes();
    plan.push(Step::Send(vec![ix::dispute_open(&s.a.w, &job.lease, 1 + s.below(2) as u8, hash)]));
    // Keepers that bonded in the same second have no say.
    plan.push(Step::Warp(1));
    Some(plan)
}

fn voted(s: &mut Scene, job: &Job) -> Option<Plan> {
    let dispute = *s.a.ledger.get::<Dispute>(&pda::dispute(&job.lease))?;
    let quorum = u128::from(dispute.quorum_bps);
    let all = voters(s, dispute.opened_at);
    let share = |set: usize| {
        let weight: u128 =
            (0..all.len()).filter(|at| set & (1 << at) != 0).map(|at| u128::from(all[at].1)).sum();
        weight * 10_000 / u128::from(dispute.total_weight.max(1))
    };
    let sets = 1 << all.len().min(10);
    let halves: Vec<usize> = (1..sets).filter(|set| (5_000..quorum).contains(&share(*set))).collect();
    let half = s.once_in(2);
    let set = s.one(halves).filter(|_| half).unwrap_or(sets - 1);
    let uphold = s.below(2) as u8;
    let mut plan = vec![];
    for (at, (wallet, _)) in all.iter().enumerate() {
        if set & (1 << at) != 0 {
            plan.push(Step::Send(vec![ix::dispute_vote(s.who(wallet)?, &job.lease, uphold)]));
        }
    }
    Some(plan)
}

/// Both ends are tried: one is refused, or both.
pub(super) fn ended(s: &mut Scene, job: &Job) -> Option<Plan> {
    s.a.ledger.get::<Dispute>(&pda::dispute(&job.lease))?;
    let payer = s.actor().wallet();
    Some(vec![
        Step::Send(vec![ix::dispute_resolve(&s.a.w, &job.lease)]),
        Step::Send(vec![ix::dispute_uphold(&s.a.w, &payer, &job.lease)]),
    ])
}
