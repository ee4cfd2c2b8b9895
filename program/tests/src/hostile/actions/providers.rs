use gantry_market::constants::{BPS, GUARANTEE_BPS_MIN};
use gantry_market::math::evidence::device_root;
use gantry_market::state::{DeviceClaim, GpuModel, Lease, Node, Provider, NODE_ACTIVE, NODE_RETIRED};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_signer::Signer;

use super::repair::short;
use crate::hostile::harness::{Harness, MACHINES, PROVIDERS, TWINS};
use crate::hostile::ledger::Ledger;
use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::testbed::key;
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
    // Mostly what a slash has left open: machines of a provider with too little stake get no work.
    let any = s.once_in(3);
    if let Some((_, node)) = s.any_where::<Node>(|found| !any && !found.covered()) {
        let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
        let who = s.who(&owner)?;
        let more = s.about(10_000_000_000);
        return one(ix::provider_stake(&s.a.w, who, short(s.a, &node.provider).saturating_add(more)));
    }
    let who = s.actor_of(&PROVIDERS);
    let amount = s.about(30_000_000_000);
    one(ix::provider_stake(&s.a.w, who, amount))
}

pub fn provider_request_unstake(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&PROVIDERS);
    let amount = match s.a.ledger.get::<Provider>(&who.provider()) {
        // Exactly what is free, or one more.
        Some(state) if s.once_in(3) => {
            state.stake.saturating_sub(state.locked_stake).saturating_add(s.r.below(2))
        }
        Some(state) if s.once_in(3) => state.stake,
        _ => s.about(20_000_000_000),
    };
    let request = ix::provider_request_unstake(who, amount);
    if s.once_in(3) {
        // At once, which is too early.
        return Some(vec![Step::Send(vec![request]), Step::Send(vec![ix::provider_withdraw_stake(who)])]);
    }
    one(request)
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
    if s.a.ledger.get::<Node>(&node).is_some() && !s.once_in(4) {
        return None;
    }
    let mut spec = ix::spec(gpus);
    spec.simulated = u8::from(s.once_in(5));
    let price = s.about(3_000_000);
    let twin = TWINS.iter().find(|(twin, _)| *twin == number).map(|(_, of)| *of);
    if twin.is_some() || s.once_in(12) {
        let other = twin.unwrap_or(MACHINES[s.below(MACHINES.len())].1);
        let devices = ix::devices(&key(other).pubkey(), gpus);
        return one(ix::node_register_with(who, &machine, spec, price, devices));
    }
    one(ix::node_register(who, &machine, spec, price))
}

/// Mostly of a machine that is behind its model.
pub fn node_accept_terms(s: &mut Scene) -> Option<Plan> {
    let since = s.a.ledger.get::<GpuModel>(&pda::gpu_model(1))?.since;
    let (at, node) = s.any_where::<Node>(|node| node.terms_at < since).or_else(|| s.any::<Node>())?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let authority = match s.below(6) {
        0 => s.actor().wallet(),
        1 | 2 => owner,
        _ => node.node_key,
    };
    one(ix::node_accept_terms(&s.a.w, &authority, &at))
}

pub fn node_update(s: &mut Scene) -> Option<Plan> {
    // Mostly of a machine that is out of work, which comes back at a usual price: else little would happen.
    let any = s.once_in(2);
    let out =
        |node: &Node| node.status != NODE_RETIRED && (node.status != NODE_ACTIVE || node.price > 3_000_000);
    if let Some((at, node)) = s.any_where::<Node>(|node| !any && out(node)) {
        let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
        let price = 1 + s.r.below(3_000_000);
        return one(ix::node_offer(&owner, &at, &node, price, NODE_ACTIVE));
    }
    let (at, node) = s.any::<Node>()?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let authority = match s.below(5) {
        0 => s.actor().wallet(),
        1 => node.node_key,
        _ => owner,
    };
    // Mostly active, else little would happen.
    let status = [1, 1, 1, 1, 1, 1, 2, 3, 4][s.below(9)];
    let price = if s.once_in(16) { s.about(u64::MAX) } else { 1 + s.r.below(3_000_000) };
    if s.once_in(3) {
        return one(ix::node_offer(&authority, &at, &node, price, status));
    }
    let isolation = if s.once_in(20) { s.below(256) as u8 } else { s.below(3) as u8 };
    let cuda = if s.once_in(3) { 1_100 + s.below(300) as u16 } else { node.spec.cuda };
    let set = ix::node_set_spec(&authority, &node.provider, &at, price, status, (isolation, cuda));
    one(ix::with_spot(set, s.below(10_100) as u16))
}

pub fn node_retire(s: &mut Scene) -> Option<Plan> {
    let (at, node) = s.any::<Node>()?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let who = s.who(&owner)?;
    one(ix::node_retire(who, &at))
}

/// Seldom: the machine is away for long.
pub fn node_report_dead(s: &mut Scene) -> Option<Plan> {
    let (at, node) = s.any::<Node>()?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let authority = match s.below(8) {
        0 => node.node_key,
        1 => owner,
        _ => s.actor().wallet(),
    };
    let mut report = ix::node_report_dead_of(&s.a.w.stake_mint, &authority, &at, &node);
    let held = s.a.ledger.all::<DeviceClaim>().filter(|(_, claim)| claim.node == at && claim.key == 0);
    report.accounts.extend(held.map(|(claim, _)| AccountMeta::new(*claim, false)));
    one(report)
}

pub fn node_close(s: &mut Scene) -> Option<Plan> {
    let early = s.once_in(8);
    let (at, node) = s.any_where::<Node>(|node| {
        early || (node.status == NODE_RETIRED && node.live_leases == 0 && node.pending_faults == 0)
    })?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let who = s.who(&owner)?;
    one(node_close_of(s.a, who, &at, &node))
}

/// Mostly of a machine whose evidence is good, with the devices that it registered.
pub fn node_set_evidence(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(6), s.a.now());
    let (at, node) = s.any_where::<Node>(|node| any || (node.tier >= 2 && now <= node.evidence_expiry))?;
    let gpus = node.spec.gpus;
    if s.once_in(2) {
        let of = MACHINES[s.below(MACHINES.len())].1;
        let keys = gpu_keys(if s.once_in(4) { of } else { number_of(&node)? }, gpus);
        let payer = s.actor().wallet();
        return one(ix::node_set_keys(&payer, &at, keys, gpus));
    }
    let mut devices = devices_of(&node)?;
    match s.below(12) {
        0 => devices.swap(0, usize::from(gpus) - 1),
        1 => devices = ix::devices(&key(MACHINES[s.below(MACHINES.len())].1).pubkey(), gpus),
        _ => {}
    }
    let mut losers = holders_of(s, &at, &devices, gpus);
    if s.once_in(12) {
        losers.pop();
    }
    let payer = s.actor().wallet();
    one(ix::node_set_evidence(&payer, &at, devices, gpus, &losers))
}

/// The keys of a machine's GPUs. Twins have the same.
pub fn gpu_keys(number: u64, gpus: u8) -> [[u8; 32]; 8] {
    let of = TWINS.iter().find(|(twin, _)| *twin == number).map_or(number, |(_, of)| *of);
    ix::gpu_keys(&key(of).pubkey(), gpus)
}

/// Which machine a node is.
pub fn number_of(node: &Node) -> Option<u64> {
    MACHINES.map(|(_, number, _)| number).into_iter().find(|number| key(*number).pubkey() == node.node_key)
}

/// The devices that a node registered.
pub fn devices_of(node: &Node) -> Option<[[u8; 32]; 8]> {
    let gpus = usize::from(node.spec.gpus);
    MACHINES
        .map(|(_, number, _)| ix::devices(&key(number).pubkey(), node.spec.gpus))
        .into_iter()
        .find(|list| device_root(&list[..gpus]) == Some(node.device_root))
}

/// The other nodes that have claims of these devices.
pub fn holders_of(s: &Scene, node: &Address, devices: &[[u8; 32]; 8], gpus: u8) -> Vec<Address> {
    let claims = devices.iter().take(usize::from(gpus)).map(pda::device);
    let mut holders: Vec<Address> = claims
        .filter_map(|claim| s.a.ledger.get::<DeviceClaim>(&claim).map(|claim| claim.node))
        .filter(|holder| holder != node)
        .collect();
    holders.sort();
    holders.dedup();
    holders
}

/// A guarantee of uptime for a while, or a longer and higher one.
pub fn node_guarantee(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(6);
    let (at, node) = s.any_where::<Node>(|node| any || node.status == NODE_ACTIVE)?;
    let owner = s.a.ledger.get::<Provider>(&node.provider)?.wallet;
    let who = s.who(&owner)?;
    let wait = i64::from(s.a.w.params.unstake_cooldown_secs);
    let until = match s.below(8) {
        0 => s.about(u64::MAX) as i64,
        1 => node.guaranteed_until,
        _ => s.a.now().max(node.guaranteed_until - wait) + wait + s.r.below(300) as i64,
    };
    let guarantee = match s.below(6) {
        0 => s.r.u16(),
        1 => node.guarantee_bps,
        2 => 10_000,
        _ => GUARANTEE_BPS_MIN + s.r.below(1 + BPS - u64::from(GUARANTEE_BPS_MIN)) as u16,
    };
    one(ix::node_guarantee(who, &at, until, guarantee))
}

/// The leases that a guarantee's end finds open, and has not counted.
pub fn guaranteed_leases(ledger: &Ledger, node: &Address, until: i64) -> Vec<Address> {
    let counts =
        |lease: &Lease| lease.node == *node && lease.awarded_at < until && lease.counted_until != until;
    ledger.all::<Lease>().filter(|(_, lease)| counts(lease)).map(|(at, _)| *at).collect()
}

/// What is over; now and then what is not. Some leave out leases that are open.
pub fn guarantee_resolve(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(4), s.a.now());
    let (at, node) =
        s.any_where::<Node>(|node| any || (node.is_guaranteed() && now > node.guaranteed_until))?;
    let mut leases = guaranteed_leases(&s.a.ledger, &at, node.guaranteed_until);
    if s.once_in(8) {
        leases.truncate(leases.len() / 2);
    }
    let finder = s.actor();
    one(ix::guarantee_resolve_of(&s.a.w, finder, &at, &leases))
}

/// With the claims that the node really has.
pub fn node_close_of(a: &Harness, who: &Actor, at: &Address, node: &Node) -> Instruction {
    let mut close = ix::node_close(who, &node.node_key, 0);
    let of = |claim: &DeviceClaim| claim.node == *at && claim.key == 0;
    let claims: Vec<_> = a.ledger.all::<DeviceClaim>().filter(|(_, claim)| of(claim)).collect();
    close.accounts.extend(claims.iter().map(|(claim, _)| AccountMeta::new(**claim, false)));
    // Others that paid the rent of one.
    let mut payers: Vec<Address> = claims.iter().map(|(_, claim)| claim.rent_payer).collect();
    payers.retain(|payer| *payer != who.wallet());
    payers.sort();
    payers.dedup();
    close.accounts.extend(payers.into_iter().map(|payer| AccountMeta::new(payer, false)));
    close
}
