//! Puts a market that has run down in order again, so that long scenarios have the machines, money and keepers they
//! need.

use gantry_market::state::{
    Credits, Keeper, Lease, Market, Node, Provider, KEEPER_ACTIVE, LEASE_RUNNING, NODE_ACTIVE, NODE_RETIRED,
};
use solana_address::Address;

use crate::hostile::harness::{Harness, CUSTOMERS, KEEPERS};
use crate::hostile::scene::{Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::{ix, pda, Actor};

/// Different machines that could have one GPU's work now, in the order of chance; or else what would help.
pub fn machines(s: &mut Scene, most: usize, least: usize) -> Result<Vec<Address>, Plan> {
    let a = s.a;
    // The ask means nothing here.
    let wanted = Wanted { most: u64::MAX, gpus: 1, simulated: 0 };
    let mut fit: Vec<Address> =
        a.ledger.all::<Node>().filter(|(_, node)| Scene::fits(a, node, &wanted)).map(|(at, _)| *at).collect();
    let open = a.ledger.get::<Market>(&pda::market()).is_some_and(|market| market.paused == 0);
    if !open || fit.len() < least {
        return Err(in_order(s));
    }
    let mut drawn = vec![];
    while drawn.len() < most && !fit.is_empty() {
        drawn.push(fit.swap_remove(s.below(fit.len())));
    }
    Ok(drawn)
}

/// Everything that keeps machines from work, as far as its owners can mend it: a paused market, stake that is short,
/// machines that are away, GPUs that are taken.
fn in_order(s: &mut Scene) -> Plan {
    let a = s.a;
    let mut all = vec![];
    if let Some(market) = a.ledger.get::<Market>(&pda::market()).filter(|market| market.paused != 0) {
        all.push(ix::market_pause(&market.authority, 0));
    }
    for (at, provider) in a.ledger.all::<Provider>() {
        let short = short(a, at);
        if let Some(who) = s.who(&provider.wallet).filter(|_| short > 0) {
            all.push(ix::provider_stake(&a.w, who, short));
        }
    }
    let away = |node: &Node| {
        let works = node.status == NODE_ACTIVE && node.covered();
        !works && node.status != NODE_RETIRED && node.pending_faults == 0
    };
    for (at, node) in a.ledger.all::<Node>().filter(|(_, node)| away(node)) {
        if let Some(provider) = a.ledger.get::<Provider>(&node.provider) {
            all.push(ix::node_offer(&provider.wallet, at, node, 2_000_000, NODE_ACTIVE));
        }
    }
    for (at, lease) in a.ledger.all::<Lease>().filter(|(_, lease)| lease.status == LEASE_RUNNING).take(2) {
        all.push(ix::lease_end(&a.w, &lease.customer, at, 1));
    }
    all.into_iter().map(|instruction| Step::Send(vec![instruction])).collect()
}

/// What a provider has to add so that each of its nodes can be covered.
pub fn short(a: &Harness, provider: &Address) -> u64 {
    let nodes = a.ledger.all::<Node>().filter(|(_, node)| node.provider == *provider);
    let missing = nodes
        .filter(|(_, node)| node.status != NODE_RETIRED)
        .map(|(_, node)| (node.required_stake + node.reserved_stake).saturating_sub(node.stake))
        .fold(0u64, u64::saturating_add);
    let free =
        a.ledger.get::<Provider>(provider).map_or(0, |found| found.stake.saturating_sub(found.locked_stake));
    missing.saturating_sub(free)
}

/// A customer that can pay this much, in µUSDC; now and then any.
pub fn customer<'a>(s: &mut Scene<'a>, cost: u64) -> &'a Actor {
    let a = s.a;
    let free = |who: &&Actor| {
        let credits = a.ledger.get::<Credits>(&who.credits());
        credits.is_some_and(|credits| credits.balance.saturating_sub(credits.reserved) >= cost)
    };
    let able = a.actors.iter().filter(free).collect();
    s.one(able).filter(|_| !s.once_in(12)).unwrap_or_else(|| s.actor_of(&CUSTOMERS))
}

/// A keeper that may award; now and then any.
pub fn keeper<'a>(s: &mut Scene<'a>) -> &'a Actor {
    let a = s.a;
    let active = |who: &&Actor| {
        a.ledger.get::<Keeper>(&who.keeper()).is_some_and(|keeper| keeper.status == KEEPER_ACTIVE)
    };
    let able = a.actors.iter().filter(active).collect();
    s.one(able).filter(|_| !s.once_in(12)).unwrap_or_else(|| s.actor_of(&KEEPERS))
}
