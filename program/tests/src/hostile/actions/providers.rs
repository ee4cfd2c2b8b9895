use gantry_market::state::{DeviceClaim, Node, Provider, NODE_RETIRED};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_signer::Signer;

use crate::hostile::arena::{Arena, MACHINES, PROVIDERS};
use crate::hostile::scene::{one, Plan, Scene};
use crate::world::key;
use crate::{ix, pda, Actor};

pub fn provider_register(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    one(ix::provider_register(&s.a.w, who))
}

pub fn provider_set_payout(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    let mint = if s.once_in(6) { s.a.w.stake_mint } else { s.a.w.payment_mint };
    let owner = if s.once_in(6) { s.actor().wallet() } else { who.wallet() };
    let payout = s.tokens_of(&owner, &mint)?;
    one(ix::provider_set_payout(who, payout))
}

pub fn provider_stake(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    let amount = s.about(30_000_000_000);
    one(ix::provider_stake(&s.a.w, who, amount))
}

pub fn provider_request_unstake(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    let amount = match s.a.book.get::<Provider>(&who.provider()) {
        // Exactly what is free, or one more.
        Some(state) if s.once_in(3) => {
            state.stake.saturating_sub(state.committed).saturating_add(s.r.below(2))
        }
        Some(state) if s.once_in(3) => state.stake,
        _ => s.about(20_000_000_000),
    };
    one(ix::provider_request_unstake(who, amount))
}

pub fn provider_withdraw_stake(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    one(ix::provider_withdraw_stake(who))
}

pub fn provider_close(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    one(ix::provider_close(who))
}

/// A machine that is not registered; now and then one that claims another's GPUs.
pub fn node_register(s: &mut Scene) -> Option<Plan> {
    let (owner, number, gpus) = MACHINES[s.below(MACHINES.len())];
    let (who, machine) = (&s.a.actors[owner], key(number).pubkey());
    let node = pda::node(&who.provider(), &machine);
    if s.a.book.get::<Node>(&node).is_some() && !s.once_in(4) {
        return None;
    }
    let mut spec = ix::spec(gpus);
    spec.simulated = u8::from(s.once_in(5));
    let price = s.about(3_000_000);
    if s.once_in(3) {
        let (_, other, _) = MACHINES[s.below(MACHINES.len())];
        let devices = ix::devices(&key(other).pubkey(), gpus);
        return one(ix::node_register_with(who, &machine, spec, price, devices));
    }
    one(ix::node_register(who, &machine, spec, price))
}

pub fn node_update(s: &mut Scene) -> Option<Plan> {
    let (at, node) = s.any::<Node>()?;
    let owner = s.a.book.get::<Provider>(&node.provider)?.wallet;
    let authority = match s.below(5) {
        0 => s.actor().wallet(),
        1 => node.node_key,
        _ => owner,
    };
    // Mostly active, else little would happen.
    let status = [1, 1, 1, 1, 1, 1, 2, 3, 4][s.below(9)];
    let price = if s.once_in(16) { s.about(u64::MAX) } else { 1 + s.r.below(3_000_000) };
    one(ix::node_update(&authority, &node.provider, &at, price, status))
}

pub fn node_retire(s: &mut Scene) -> Option<Plan> {
    let (at, node) = s.any::<Node>()?;
    let owner = s.a.book.get::<Provider>(&node.provider)?.wallet;
    let who = s.who(&owner)?;
    one(ix::node_retire(who, &at))
}

pub fn node_close(s: &mut Scene) -> Option<Plan> {
    let early = s.once_in(8);
    let (at, node) = s.any_where::<Node>(|node| early || node.status == NODE_RETIRED)?;
    let owner = s.a.book.get::<Provider>(&node.provider)?.wallet;
    let who = s.who(&owner)?;
    one(node_close_of(s.a, who, &at, &node))
}

/// With the claims that the node really has.
pub fn node_close_of(a: &Arena, who: &Actor, at: &Address, node: &Node) -> Instruction {
    let mut close = ix::node_close(who, &node.node_key, 0);
    let claims = a.book.all::<DeviceClaim>().filter(|(_, claim)| claim.node == *at);
    close.accounts.extend(claims.map(|(claim, _)| AccountMeta::new(*claim, false)));
    close
}
