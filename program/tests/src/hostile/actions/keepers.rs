use gantry_market::constants::IDLE_REPORTS;
use gantry_market::state::{Keeper, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_PENDING};

use crate::hostile::harness::{ATTACKER, HOT, KEEPERS};
use crate::hostile::scene::{one, send, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::{self, signed};
use crate::testbed::key;

/// Mostly actors that are no keepers yet: a stranger, the attacker.
const NEWCOMERS: [usize; 3] = [9, 9, ATTACKER];

pub fn keeper_register(s: &mut Scene) -> Option<Plan> {
    // Mostly one of the cast that left comes back: without keepers little would happen.
    let gone =
        KEEPERS.into_iter().filter(|at| s.a.ledger.held(&s.a.actors[*at].keeper()).is_none()).collect();
    if let Some(at) = s.one(gone).filter(|_| !s.once_in(4)) {
        let bond = (1 + s.r.below(4)).saturating_mul(s.a.w.params.min_bond);
        return one(ix::keeper_register(&s.a.w, &s.a.actors[at], bond));
    }
    let who = s.actor_of(&NEWCOMERS);
    let bond = if s.once_in(2) { s.a.w.params.min_bond } else { s.about(3_000_000_000) };
    one(ix::keeper_register(&s.a.w, who, bond))
}

pub fn keeper_update(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&KEEPERS);
    let (bytes, len) = ix::multiaddr("/dns4/keeper.example/tcp/4001");
    one(ix::keeper_update(who, bytes, len))
}

/// Mostly the lightest keeper, which nothing depends on: a key of its own or its wallet, and now and then one that has
/// not agreed, has agreed to sign for another, or has agreed too long ago.
pub fn keeper_set_signer(s: &mut Scene) -> Option<Plan> {
    let usual = if s.once_in(4) { KEEPERS } else { [8, 8, 8, ATTACKER] };
    let who = s.actor_of(&usual);
    let hot = key(HOT[s.below(HOT.len())]);
    let mut plan = ix::keeper_rotation(&s.a.w, who, &hot).to_vec();
    match s.below(8) {
        0 => plan = vec![ix::keeper_set_signer(who, &who.wallet())],
        1 => plan = vec![plan.remove(1)],
        2 => plan[0] = signed(&hot, &ix::consent(&s.a.w, &s.actor().wallet())),
        3 => plan[0] = signed(&s.actor().key, &ix::consent(&s.a.w, &who.wallet())),
        4 => plan[0] = signed(&hot, &ix::consent_until(&who.wallet(), s.a.w.now())),
        _ => {}
    }
    send(plan)
}

pub fn keeper_activate(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let (_, keeper) = s.any_where::<Keeper>(|keeper| any || keeper.status == KEEPER_PENDING)?;
    let who = s.who(&keeper.wallet)?;
    one(ix::keeper_activate(who))
}

/// Mostly too early.
pub fn keeper_suspend(s: &mut Scene) -> Option<Plan> {
    if s.once_in(5) {
        return idles(s);
    }
    let any = s.once_in(4);
    let (at, _) = s.any_where::<Keeper>(|keeper| any || keeper.status == KEEPER_ACTIVE)?;
    one(ix::keeper_suspend(&at))
}

/// One keeper does not vote for as long as the others need to suspend it; then it comes back.
fn idles(s: &mut Scene) -> Option<Plan> {
    let active = s.a.ledger.all::<Keeper>().filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE);
    let wallets: Vec<_> = active.map(|(_, keeper)| keeper.wallet).collect();
    let idle = s.one(wallets)?;
    let at = s.a.actors.iter().position(|actor| actor.wallet() == idle)?;
    idles_of(s, at)
}

/// The same of a keeper of the cast.
pub fn idles_of(s: &mut Scene, idle: usize) -> Option<Plan> {
    let active = s.a.ledger.all::<Keeper>().filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE);
    let wallets: Vec<_> = active.map(|(_, keeper)| keeper.wallet).collect();
    let idle = s.a.actors[idle].wallet();
    let (first, secs) = (s.a.w.period(), i64::from(s.a.w.params.period_secs));
    let mut plan = vec![];
    for period in first..=first + IDLE_REPORTS {
        plan.push(Step::Warp(secs));
        for wallet in wallets.iter().filter(|wallet| **wallet != idle) {
            plan.push(Step::Send(vec![ix::report_vote(s.who(wallet)?, period, [7; 32])]));
        }
    }
    let who = s.who(&idle)?;
    plan.push(Step::Send(vec![ix::keeper_suspend(&who.keeper())]));
    plan.push(Step::Warp(i64::from(s.a.w.params.keeper_activation_secs)));
    plan.push(Step::Send(vec![ix::keeper_activate(who)]));
    Some(plan)
}

/// The four of the cast stay for the most part, or nothing would become final.
pub fn keeper_request_exit(s: &mut Scene) -> Option<Plan> {
    let usual: &[usize] = if s.once_in(8) { &KEEPERS } else { &NEWCOMERS };
    let who = s.actor_of(usual);
    let request = ix::keeper_request_exit(who);
    if s.once_in(3) {
        // At once, which is too early.
        return Some(vec![Step::Send(vec![request]), Step::Send(vec![ix::keeper_withdraw(who)])]);
    }
    one(request)
}

pub fn keeper_withdraw(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let (_, keeper) = s.any_where::<Keeper>(|keeper| any || keeper.status >= KEEPER_EXITING)?;
    let who = s.who(&keeper.wallet)?;
    one(ix::keeper_withdraw(who))
}
