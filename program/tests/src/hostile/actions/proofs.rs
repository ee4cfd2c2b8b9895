use gantry_market::constants::{AWARD_VIEW_SECS, MODE_INSTANT};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::bid::price_of;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{FraudProof, Keeper, Lease, Node, Order, Provider, NODE_ACTIVE};

use super::auctions::deadlines;
use super::customers::free_nonce;
use crate::hostile::harness::{ATTACKER, CUSTOMERS, KEEPERS};
use crate::hostile::scene::{one, send, Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::ix::signed;
use crate::leaves::{manifest, statement};
use crate::{ix, pda, Actor};

/// Keepers that equivocate: the lightest keeper and newcomers, or reports would soon be nobody's.
const CARELESS: [usize; 4] = [8, 8, 9, ATTACKER];

pub fn prove_equivocation(s: &mut Scene) -> Option<Plan> {
    let finder = s.actor();
    let at = CARELESS[s.below(CARELESS.len())];
    let keeper = &s.a.actors[at];
    s.a.ledger.held(&keeper.keeper())?;
    let records = if s.once_in(2) { two_manifests(s) } else { two_statements(s, keeper)? };
    let mut proof = ix::equivocation(&s.a.w, finder, keeper, &records[0], &records[1]).to_vec();
    // By its signer, the one before, or its wallet, which may be neither.
    let state = s.a.ledger.get::<Keeper>(&keeper.keeper())?;
    let keys = [state.signer, state.signer, state.former_signer, state.wallet];
    for (place, record) in records.iter().enumerate() {
        let by = keys[s.below(keys.len())];
        proof[place] = signed(s.key(&by).unwrap_or(&keeper.key), record);
    }
    if s.once_in(10) {
        // Somebody else records one of them.
        let other = s.actor();
        proof[0] = signed(&other.key, &records[0]);
    }
    send(proof)
}

fn two_statements(s: &mut Scene, keeper: &Actor) -> Option<[Vec<u8>; 2]> {
    let (node, _) = s.any::<Node>()?;
    let period = s.a.w.period().saturating_sub(s.r.below(3));
    let mut records = [true, false].map(|passed| statement(&node, period, 3, passed));
    match s.below(7) {
        // The same twice, of two periods, of two machines, of another network.
        0 => records[1] = records[0],
        1 | 4 => records[1][48..56].copy_from_slice(&(period + 1).to_le_bytes()),
        2 => records[1][16..48].copy_from_slice(keeper.wallet().as_ref()),
        3 => records.iter_mut().for_each(|text| text[8] ^= 1),
        _ => {}
    }
    Some(records.map(Vec::from))
}

fn two_manifests(s: &mut Scene) -> [Vec<u8>; 2] {
    let period = s.a.w.period().saturating_sub(s.r.below(3));
    let mut records = [1, 2].map(|count| Vec::from(manifest(period, count, s.r.bytes())));
    match s.below(6) {
        // The same twice, of two periods, of another network, and what is no manifest.
        0 => records[1] = records[0].clone(),
        1 | 2 => records[1][16..24].copy_from_slice(&(period + 1).to_le_bytes()),
        3 => records.iter_mut().for_each(|text| text[8] ^= 1),
        4 => records[1] = statement(&s.a.actors[ATTACKER].wallet(), period, 1, true).into(),
        _ => {}
    }
    records
}

pub fn fraud_proof_close(s: &mut Scene) -> Option<Plan> {
    let (_, fraud_proof) = s.any::<FraudProof>()?;
    one(ix::fraud_proof_close(&fraud_proof.finder, &fraud_proof.node))
}

/// A keeper passes over a node that scored better, or as well: the whole scenario, from the order to the proof.
pub fn unjust_award(s: &mut Scene) -> Option<Plan> {
    let now = s.a.now();
    let a = s.a;
    let wanted = Wanted { most: u64::MAX, gpus: 1, simulated: 0 };
    let fit = |node: &Node| Scene::fits(a, node, &wanted);
    let (better, best) = s.any_where::<Node>(fit)?;
    let (worse, awarded) = s.any_where::<Node>(|node| fit(node) && node.node_key != best.node_key)?;
    let who = s.actor_of(&CUSTOMERS);
    let nonce = free_nonce(s, &who.wallet())?;
    let args =
        OrderArgs { gpus_per_node: 1, max_price: 6_000_000, duration_secs: 60, ..ix::order_args(nonce) };
    let order = pda::order(&who.wallet(), nonce);
    let mut plan = vec![];
    // Nothing about the better one may have moved in this time.
    if !s.once_in(4) {
        plan.push(Step::Warp(1 + AWARD_VIEW_SECS));
    }
    let owner = s.a.ledger.get::<Provider>(&awarded.provider)?.wallet;
    // As good as the other, or worse.
    let later = now + 1 + AWARD_VIEW_SECS;
    let end = later + deadlines(s) + i64::from(args.duration_secs);
    let score =
        score(best.price, reputation_bps(&best, later), best.record(later).guarantee.bps_until(end)).ok()?;
    let even =
        price_of(score, reputation_bps(&awarded, later), awarded.record(later).guarantee.bps_until(end))
            .ok()?;
    let price = even.saturating_add(if s.once_in(2) { 0 } else { 1 + s.r.below(1_000_000) }).min(6_000_000);
    plan.push(Step::Send(vec![ix::node_offer(&owner, &worse, &awarded, price, NODE_ACTIVE)]));
    plan.push(Step::Send(vec![ix::order_create(who, args)]));
    let keeper = s.actor_of(&KEEPERS);
    plan.push(Step::Send(vec![ix::order_award(keeper, who, &order, &awarded.provider, &worse)]));
    let finder = s.actor();
    let award = (&order, &pda::lease(&order, &worse), &keeper.wallet());
    let prove = ix::prove_better_ask_of(&s.a.w, finder, award, (&better, &best));
    plan.push(Step::Send(vec![prove]));
    Some(plan)
}

/// Keepers of the cast award at random, so now and then one can be shown a better node.
pub fn prove_better_ask(s: &mut Scene) -> Option<Plan> {
    if s.once_in(2) {
        return unjust_award(s);
    }
    let any = s.once_in(10);
    let window = i64::from(s.a.w.params.challenge_secs);
    let now = s.a.now();
    let (at, lease) =
        s.any_where::<Lease>(|lease| any || (lease.score != 0 && now <= lease.awarded_at + window))?;
    let order = s.a.ledger.get::<Order>(&lease.order)?;
    if !any && (order.mode != MODE_INSTANT && lease.continues == 0 || order.redundant == 1) {
        return None;
    }
    let (better, _) = s.any_where::<Node>(|node| {
        let suits = node.status == NODE_ACTIVE && node.price <= lease.price && node.free_gpus() >= lease.gpus;
        any || suits
    })?;
    s.a.ledger.held(&pda::keeper(&lease.keeper))?;
    let finder = s.actor();
    one(ix::prove_better_ask(&s.a.w, finder, &at, &better))
}
