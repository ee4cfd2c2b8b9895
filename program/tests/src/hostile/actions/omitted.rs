//! Keepers that pass over a bid whose reveal they acknowledged, and what is tried against those that did not.

use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::bid::price_of;
use gantry_market::math::reputation::{reputation_bps, reputation_of};
use gantry_market::math::score::score;
use gantry_market::state::{Auction, Lease, Node};
use solana_address::Address;

use super::auctions::deadlines;
use super::customers::free_nonce;
use super::repair::{customer, keeper, machines};
use super::sealed::{award, offer, Sealed};
use crate::hostile::harness::KEEPERS;
use crate::hostile::scene::{Passed, Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::Award;
use crate::{ix, pda};

/// Steps of the scenario that must succeed before its proofs can: order, wait, award.
pub const BEFORE_PROOFS: usize = 3;
/// Bars that are tried for one against which another node scores exactly as the award does.
const BARS: usize = 30;

/// A proof about what was passed over a while ago, or the whole scenario.
pub fn prove_omitted_bid(s: &mut Scene) -> Option<Plan> {
    if s.once_in(3) {
        let (any, now, ledger) = (s.once_in(10), s.a.now(), &s.a.ledger);
        // Also some time after it is too late.
        let contested = |passed: &&Passed| {
            let lease = ledger.get::<Lease>(&passed.award.lease);
            let auction = ledger.get::<Auction>(&pda::auction(&passed.award.order));
            let open = |(lease, auction): (&Lease, &Auction)| {
                lease.score != 0 && now <= auction.challenge_until + i64::from(lease.duration_secs)
            };
            any || lease.zip(auction).is_some_and(open)
        };
        let known = s.memory.passed.iter().filter(contested).copied().collect();
        if let Some(passed) = s.one(known) {
            let wrong = s.once_in(2);
            return Some(vec![proof(s, &passed, wrong)?]);
        }
    }
    left_out(s)
}

/// What is bid, in µUSDC per GPU-hour.
struct Prices {
    winner: u64,
    omitted: u64,
    bar: u64,
}

/// Prices by which the omitted bid is better than what the winner is paid by, as good, or worse.
fn prices(
    s: &mut Scene,
    (winner, omitted, bar): (&Node, &Node, Option<&Node>),
    most: u64,
    since: i64,
    (awarded_at, end): (i64, i64),
) -> Option<Prices> {
    let guarantee = |node: &Node| node.record(awarded_at).guarantee.bps_until(end);
    let reputation = reputation_bps(winner, awarded_at);
    // As the proof sees it: at its worst.
    let worst = reputation_of(&omitted.record(awarded_at).score, since);
    let only_even = s.once_in(3);
    for _ in 0..BARS {
        let lost = 1_000_000 + s.r.below(most.saturating_sub(1_000_000).max(1));
        let paid = match bar {
            Some(node) => {
                let score = score(lost, reputation_bps(node, awarded_at), guarantee(node)).ok()?;
                price_of(score, reputation, guarantee(winner)).ok()?.min(most)
            }
            None => most,
        };
        let awarded = score(paid, reputation, guarantee(winner)).ok()?;
        let even = price_of(awarded, worst, guarantee(omitted)).ok()?;
        if only_even && (score(even, worst, guarantee(omitted)).ok()? != awarded || even > most) {
            continue;
        }
        let price = match s.below(6) {
            _ if only_even => even,
            0 => even.saturating_add(1 + s.r.below(500_000)),
            1 => even.saturating_sub(1),
            _ => even.saturating_sub(1 + s.r.below(even / 2 + 1)),
        };
        let winner = paid.saturating_sub(paid / 20 + s.r.below(paid / 2 + 1)).max(1);
        return Some(Prices { winner, omitted: price.clamp(1, most), bar: lost });
    }
    None
}

/// A sealed order whose keeper takes one bid, names another as the best that lost, and leaves a third out; then what
/// can be tried against it. Whether it was unjust depends on the prices.
fn left_out(s: &mut Scene) -> Option<Plan> {
    let (a, now) = (s.a, s.a.now());
    let mut fit = match machines(s, 3, 2) {
        Ok(fit) => fit,
        Err(repair) => return Some(repair),
    };
    if s.once_in(2) {
        // Whoever wins could have won twice.
        fit.sort_by_key(|at| std::cmp::Reverse(a.ledger.get::<Node>(at).map_or(0, Node::free_gpus)));
    }
    let mut fit = fit.into_iter();
    let (winner, omitted) = fit.next().zip(fit.next())?;
    let bar = fit.next().filter(|_| !s.once_in(6));
    // Mostly with so late a close that everyone was long enough what they are.
    let commit = if s.once_in(8) { 10 } else { AWARD_VIEW_SECS + 2 + s.below(10) as i64 };
    let close_at = now + commit;
    let reveal_until = close_at + 5 + s.below(10) as i64;
    let awarded_at = reveal_until + 1;
    let who = customer(s, 700_000);
    let nonce = free_nonce(s, &who.wallet())?;
    let max_price = 3_000_000 + s.r.below(3_000_000);
    let duration_secs = 60 + s.below(300) as u32;
    let args = OrderArgs { nodes: 1, gpus_per_node: 1, duration_secs, max_price, ..ix::sealed_args(nonce) };
    let state = |at: &Address| a.ledger.get::<Node>(at);
    let states = (state(&winner)?, state(&omitted)?, bar.as_ref().and_then(state));
    let end = reveal_until + deadlines(s) + i64::from(duration_secs);
    let prices = prices(s, states, max_price, close_at - AWARD_VIEW_SECS, (awarded_at, end))?;
    let won = (winner, prices.winner, s.r.bytes());
    let bid = offer(a, won)?;
    let losing = bar.and_then(|bar| offer(a, (bar, prices.bar, s.r.bytes())));
    let keeper = keeper(s);
    let order = pda::order(&who.wallet(), nonce);
    let lease = pda::lease(&order, &winner);
    let passed = Passed {
        award: Award { order, lease, keeper: keeper.wallet(), bar: losing.map(|losing| losing.node) },
        customer: who.wallet(),
        close_at,
        reveal_until,
        bid: (omitted, prices.omitted, s.r.bytes()),
        won,
    };
    s.memory.pass_over(passed);
    let open = ix::auction_open(who, &order, commit as u32, (reveal_until - close_at) as u32);
    let sealed = Sealed { order, customer: who.wallet(), close_at, keeper };
    let mut plan = vec![
        Step::Send(vec![ix::order_create(who, args), open]),
        Step::Warp(awarded_at - now),
        Step::Send(award(&sealed, &bid, losing.as_ref(), s.r.bytes())),
    ];
    if s.once_in(5) {
        plan.push(Step::Warp(i64::from(a.w.params.challenge_secs) + 1));
    }
    for _ in 0..1 + s.below(3) {
        plan.push(proof(s, &passed, true)?);
    }
    if s.once_in(2) {
        plan.push(Step::Send(vec![ix::lease_start_of(&states.0.node_key, &order, &lease)]));
    }
    if s.once_in(2) {
        let right = proof(s, &passed, false)?;
        plan.push(right.clone());
        if s.once_in(3) {
            plan.push(right);
        }
    }
    Some(plan)
}

/// A proof that is right when the award was unjust, or one in which one thing is not as it was.
fn proof(s: &mut Scene, passed: &Passed, wrong: bool) -> Option<Step> {
    let a = s.a;
    let Passed { mut award, mut close_at, reveal_until, .. } = *passed;
    let mut bid = offer(a, passed.bid)?;
    let mut by = &s.who(&award.keeper)?.key;
    let mut received_at = close_at + s.below((reveal_until - close_at + 1) as usize) as i64;
    let mut acknowledged_at = None;
    let (mut acknowledged, mut committed) = (None, None);
    match s.below(12) {
        _ if !wrong => {}
        // Too late, and by a second only.
        0 => received_at = reveal_until + 1 + s.below(2) as i64 * 30,
        // Another keeper, or nobody in particular, acknowledged it.
        1 => by = &s.actor_of(&KEEPERS).key,
        2 => by = &s.actor().key,
        // Somebody else signed the bid.
        3 | 4 => bid.key = &s.actor().key,
        // The bid that won.
        5 | 6 => bid = offer(a, passed.won)?,
        // The best losing bid's node, with a bid of its own.
        7 => bid = offer(a, (award.bar.unwrap_or(bid.node), bid.price, bid.salt))?,
        // A bid for another life of the order.
        8 => close_at += 1,
        // What was acknowledged, or signed, is not what is shown.
        9 => acknowledged = Some(bid.price.saturating_add(1)),
        10 => committed = Some(bid.price.saturating_add(1)),
        _ if s.once_in(2) => acknowledged_at = Some(received_at - 1),
        _ => award.bar = None,
    }
    let other = |price: Option<u64>| ix::Offer { price: price.unwrap_or(bid.price), ..bid };
    let commitment = other(committed).check(&award.order, close_at);
    let at = acknowledged_at.unwrap_or(received_at);
    let ack = other(acknowledged).ack(by, &award.order, close_at, at);
    let finder = s.actor();
    let proof = ix::prove_omitted_bid_of(&a.w, finder, &award, &bid, received_at);
    Some(Step::Send(vec![commitment, ack, proof]))
}
