use gantry_market::state::{Keeper, KEEPER_EXITING, KEEPER_PENDING};

use crate::hostile::harness::{ATTACKER, KEEPERS};
use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix;

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

pub fn keeper_activate(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let (_, keeper) = s.any_where::<Keeper>(|keeper| any || keeper.status == KEEPER_PENDING)?;
    let who = s.who(&keeper.wallet)?;
    one(ix::keeper_activate(who))
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
