use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::pricing::cost;
use gantry_market::state::{Credits, Order};
use solana_address::Address;

use super::{funded, recovered};
use crate::hostile::actions::customers::free_nonce;
use crate::hostile::harness::CUSTOMERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// A session key asks for more than its cap, then for less; another takes its slot and orders as well; then the first
/// one's order ends.
pub fn replaced(s: &mut Scene) -> Option<Scenario> {
    let who = CUSTOMERS[s.below(CUSTOMERS.len())];
    let wallet = s.a.actors[who].wallet();
    let (nonce, other) = (free_nonce(s, &wallet)?, free_nonce(s, &wallet)?);
    let (first, second) = (s.actor().wallet(), s.actor().wallet());
    if nonce == other || first == second || first == wallet || second == wallet {
        return None;
    }
    let args = |nonce| OrderArgs { duration_secs: 60, ..ix::order_args(nonce) };
    let price = cost(args(nonce).max_price, 1, 60).ok()?;
    let named = move |s: &Scene, key: &Address, cap: u64| {
        let until = s.a.now() + 3_000;
        Step::Send(vec![ix::credits_set_session_key(&s.a.actors[who], key, cap, until)])
    };
    let orders = move |s: &Scene, nonce: u64, key: &Address| {
        let create = ix::order_create(&s.a.actors[who], args(nonce));
        Step::Send(vec![ix::by_session(create, key)])
    };
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| Some(cleared(s, who, price, &[first, second])))
            .then(move |s| Some(vec![named(s, &first, price - 1), Step::Warp(1), orders(s, nonce, &first)]))
            .then(move |s| Some(vec![named(s, &first, 2 * price), orders(s, nonce, &first)]))
            .then(move |s| Some(vec![named(s, &first, 0), named(s, &second, 2 * price), Step::Warp(1)]))
            .then(move |s| Some(vec![orders(s, other, &second)]))
            .then(move |s| {
                let order = pda::order(&wallet, nonce);
                let placed = s.a.ledger.get::<Order>(&order)?;
                let mut cancel = ix::order_cancel(&s.a.actors[who], &order);
                cancel.accounts[3].pubkey = placed.rent_payer;
                Some(vec![Step::Send(vec![cancel])])
            }),
    )
}

/// Money for two orders, a free slot, and none that has one of these keys.
fn cleared(s: &mut Scene, who: usize, price: u64, keys: &[Address]) -> Plan {
    let actor = &s.a.actors[who];
    let mut plan = funded(s, who, 2 * price);
    let slots =
        s.a.ledger.get::<Credits>(&actor.credits()).map_or(vec![], |found| found.session_keys.to_vec());
    let full = slots.iter().all(|slot| slot.cap > 0);
    for (at, slot) in slots.iter().enumerate() {
        if slot.cap > 0 && (keys.contains(&slot.key) || (full && at == 0)) {
            plan.push(Step::Send(vec![ix::credits_set_session_key(actor, &slot.key, 0, 0)]));
        }
    }
    plan
}
