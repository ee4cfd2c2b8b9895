//! Votes on an open report that move to a root which then weighs more.

use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::{ReportFinalised, ReportVoted};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Candidate, Keeper, Report, Rewards, KEEPER_SLASHED, REPORT_FINAL, REPORT_OPEN};
use gantry_market_tests::events::{assert_emitted, emitted};
use gantry_market_tests::{ix, pda, Actor, Testbed};

use crate::report_tail::{bytes, ready, report, standing, vote, wrong, Standing, RIGHT};

const A: [u8; 32] = [0xa; 32];
const B: [u8; 32] = [0xb; 32];

/// A vote that must move; what the transaction was.
fn moves(w: &mut Testbed, keeper: &Actor, period: u64, root: [u8; 32]) -> Vec<Vec<u8>> {
    let before: Keeper = w.read(&keeper.keeper());
    let lamports = w.lamports(&keeper.wallet());
    let length = bytes(w, period);
    let meta = w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
    let event = ReportVoted { period, keeper: keeper.wallet(), root, weight: before.weight };
    assert_emitted(&meta, &event);
    let after: Keeper = w.read(&keeper.keeper());
    assert_eq!(bytemuck::bytes_of(&before), bytemuck::bytes_of(&after), "its record has the vote already");
    assert_eq!((w.lamports(&keeper.wallet()), bytes(w, period)), (lamports, length));
    emitted(&meta)
}

fn refused(w: &mut Testbed, keeper: &Actor, period: u64, root: [u8; 32], code: MarketError) {
    w.refused(ix::report_vote(keeper, period, root), &[&keeper.key], code);
}

/// A root of the report, wherever it stands.
fn find(w: &Testbed, period: u64, root: [u8; 32]) -> Candidate {
    let front = report(w, period).candidates;
    let mut all = front.into_iter().chain(w.report_tail(period));
    all.find(|c| c.root == root).expect("the root stands")
}

#[test]
fn a_vote_moves_to_a_root_that_then_weighs_more() {
    let (mut w, all, period) = ready(&[3, 2, 10]);
    let unit = w.params.min_bond;
    vote(&mut w, &all[0], period, A);
    vote(&mut w, &all[1], period, B);
    let events = moves(&mut w, &all[1], period, A);
    assert_eq!(events.len(), 1, "nothing but the vote");
    let found = report(&w, period);
    assert_eq!((found.status, found.candidate_count, found.voters[0]), (REPORT_OPEN, 2, 0b11));
    let (a, b) = (find(&w, period, A), find(&w, period, B));
    assert_eq!((a.weight, a.voters[0], a.proposer), (5 * unit, 0b11, all[0].wallet()));
    assert_eq!((b.weight, b.voters, b.proposer), (0, [0; 32], all[1].wallet()));
    assert_eq!(w.read::<Keeper>(&all[1].keeper()).votes, 1);
    // The same again is a retry.
    let meta = w.ok(ix::report_vote(&all[1], period, A), &[&all[1].key]);
    assert!(emitted(&meta).is_empty());
    // Back to where nobody is any more: never.
    refused(&mut w, &all[1], period, B, MarketError::VoteNotHeavier);
}

#[test]
fn a_vote_does_not_move_to_what_weighs_no_more() {
    let (mut w, all, period) = ready(&[1, 2, 2, 1, 1, 10]);
    for (keeper, root) in all.iter().zip([A, A, B, wrong(0), wrong(1)]) {
        vote(&mut w, keeper, period, root);
    }
    let before = standing(&w, period);
    // 3 at A: B would weigh as much, the others less.
    for root in [B, wrong(0), wrong(1)] {
        refused(&mut w, &all[0], period, root, MarketError::VoteNotHeavier);
    }
    // A root that nobody has voted for does not get a place, however heavy the voter.
    for keeper in &all[..5] {
        refused(&mut w, keeper, period, RIGHT, MarketError::VoteNotHeavier);
    }
    assert_eq!(standing(&w, period), before);
    // One unit more, and it does.
    moves(&mut w, &all[4], period, B);
    moves(&mut w, &all[0], period, B);
    let front: Vec<Standing> = vec![(A, 2), (B, 4), (wrong(0), 1), (wrong(1), 0)];
    assert_eq!(standing(&w, period), (front, vec![]));
}

#[test]
fn votes_on_a_final_report_stand() {
    let (mut w, all, period) = ready(&[7, 1, 1]);
    vote(&mut w, &all[1], period, B);
    vote(&mut w, &all[0], period, A);
    let found = report(&w, period);
    assert_eq!((found.status, found.root), (REPORT_FINAL, A));
    for (keeper, root) in [(&all[1], A), (&all[1], RIGHT), (&all[0], B), (&all[0], RIGHT)] {
        refused(&mut w, keeper, period, root, MarketError::AlreadyVoted);
    }
    for (keeper, root) in [(&all[0], A), (&all[1], B)] {
        let meta = w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
        assert!(emitted(&meta).is_empty(), "a retry");
    }
    // A first vote still counts.
    vote(&mut w, &all[2], period, A);
    assert_eq!(find(&w, period, A).voters[0], 0b101);
}

#[test]
fn a_move_that_completes_the_quorum_makes_the_report_final() {
    let (mut w, all, period) = ready(&[1; 4]);
    let unit = w.params.min_bond;
    for (keeper, root) in all.iter().zip([A, B, A, B]) {
        vote(&mut w, keeper, period, root);
    }
    w.warp(7);
    let events = moves(&mut w, &all[1], period, A);
    assert_eq!(events.len(), 2);
    let finalised = ReportFinalised { period, root: A, weight: 3 * unit, total_weight: 4 * unit };
    assert!(events.contains(&anchor_lang::Event::data(&finalised)));
    let found = report(&w, period);
    assert_eq!((found.status, found.root, found.proposer), (REPORT_FINAL, A, all[0].wallet()));
    assert_eq!(found.finalised_at, w.now());
    refused(&mut w, &all[3], period, A, MarketError::AlreadyVoted);
}

#[test]
fn who_may_not_vote_any_more_does_not_move_either() {
    let (mut w, all, period) = ready(&[2, 1, 1, 9]);
    for (keeper, root) in all.iter().zip([A, B, B]) {
        vote(&mut w, keeper, period, root);
    }
    w.ok(ix::keeper_request_exit(&all[1]), &[&all[1].key]);
    refused(&mut w, &all[1], period, A, MarketError::KeeperNotActive);
    // Expelled by a proof.
    let before: Keeper = w.read(&all[2].keeper());
    w.alter(&all[2].keeper(), |k: &mut Keeper| (k.status, k.weight) = (KEEPER_SLASHED, 0));
    refused(&mut w, &all[2], period, A, MarketError::KeeperNotActive);
    w.write(&all[2].keeper(), &before);
    let (now, end) = (w.now(), (period as i64 + 1) * i64::from(w.params.period_secs));
    w.set_now(end + i64::from(w.params.report_retention_secs) + 1);
    refused(&mut w, &all[2], period, A, MarketError::TooLate);
    w.set_now(now);
    // Whoever left stays counted where it was.
    moves(&mut w, &all[2], period, A);
    let unit = w.params.min_bond;
    assert_eq!((find(&w, period, B).weight, find(&w, period, B).voters[0]), (unit, 0b10));
    // With its old wallet and its old place, but a new bond, it has no say on the past.
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&all[1]), &[&all[1].key]);
    w.ok(ix::keeper_register(&w, &all[1], 50 * unit), &[&all[1].key]);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.ok(ix::keeper_activate(&all[1]), &[&all[1].key]);
    let again: Keeper = w.read(&all[1].keeper());
    assert_eq!((again.index, again.weight), (1, 50 * unit));
    for root in [A, B, RIGHT] {
        refused(&mut w, &all[1], period, root, MarketError::KeeperNotActive);
    }
    // Nor does somebody else, on any place.
    let other = w.keeper(90 * unit);
    refused(&mut w, &other, period, A, MarketError::KeeperNotActive);
    assert_eq!((find(&w, period, A).weight, find(&w, period, B).weight), (3 * unit, unit));
}

#[test]
fn a_root_that_everybody_left_keeps_its_place_and_is_found_again_by_a_first_vote() {
    let (mut w, all, period) = ready(&[2, 1, 3, 9]);
    vote(&mut w, &all[0], period, A);
    vote(&mut w, &all[1], period, B);
    moves(&mut w, &all[1], period, A);
    let event = w.ok(ix::report_vote(&all[2], period, B), &[&all[2].key]);
    assert_eq!(emitted(&event).len(), 1);
    let (found, unit) = (report(&w, period), w.params.min_bond);
    assert_eq!((found.candidate_count, found.voters[0]), (2, 0b111));
    let b = find(&w, period, B);
    assert_eq!((b.weight, b.voters[0], b.proposer), (3 * unit, 0b100, all[2].wallet()));
    assert_eq!(w.read::<Keeper>(&all[2].keeper()).votes, 1);
    // Who had brought it first is a voter like any other when it comes back.
    moves(&mut w, &all[1], period, B);
    let b = find(&w, period, B);
    assert_eq!((b.weight, b.voters[0], b.proposer), (4 * unit, 0b110, all[2].wallet()));
}

/// From front to front, from front to behind, from behind to front, behind.
#[test]
fn the_heaviest_four_are_in_front_after_every_move() {
    let (mut w, all, period) = ready(&[2, 2, 3, 4, 1, 1, 1, 1, 2, 60, 100, 100]);
    let first = [wrong(0), wrong(0), wrong(1), wrong(2), wrong(3), wrong(4), wrong(5), wrong(6), wrong(1)];
    for (keeper, root) in all.iter().zip(first) {
        vote(&mut w, keeper, period, root);
    }
    let stand = |w: &Testbed| standing(w, period);
    let of = |roots: &[(usize, u64)]| roots.iter().map(|(n, weight)| (wrong(*n), *weight)).collect();
    let at_first = (of(&[(0, 4), (1, 5), (2, 4), (3, 1)]), of(&[(4, 1), (5, 1), (6, 1)]));
    assert_eq!(stand(&w), at_first);
    // Behind: what rises comes to the front, with all that it has.
    moves(&mut w, &all[7], period, wrong(4));
    assert_eq!(stand(&w), (of(&[(0, 4), (1, 5), (2, 4), (4, 2)]), of(&[(3, 1), (5, 1), (6, 0)])));
    let risen = report(&w, period).candidates[3];
    assert_eq!((risen.voters[0], risen.proposer), (0b1010_0000, all[5].wallet()));
    // From behind to the front: nothing changes places.
    moves(&mut w, &all[6], period, wrong(4));
    assert_eq!(stand(&w), (of(&[(0, 4), (1, 5), (2, 4), (4, 3)]), of(&[(3, 1), (5, 0), (6, 0)])));
    // From front to front: what falls goes behind what is heavier there.
    vote(&mut w, &all[9], period, wrong(7));
    assert_eq!(stand(&w), (of(&[(0, 4), (1, 5), (2, 4), (7, 60)]), of(&[(3, 1), (5, 0), (6, 0), (4, 3)])));
    moves(&mut w, &all[0], period, wrong(2));
    assert_eq!(stand(&w), (of(&[(4, 3), (1, 5), (2, 6), (7, 60)]), of(&[(3, 1), (5, 0), (6, 0), (0, 2)])));
    // From front to behind: one rises, one falls, and they change places.
    moves(&mut w, &all[2], period, wrong(4));
    assert_eq!(stand(&w), (of(&[(4, 6), (1, 2), (2, 6), (7, 60)]), of(&[(3, 1), (5, 0), (6, 0), (0, 2)])));
    moves(&mut w, &all[1], period, wrong(1));
    assert_eq!(stand(&w), (of(&[(4, 6), (1, 4), (2, 6), (7, 60)]), of(&[(3, 1), (5, 0), (6, 0), (0, 0)])));
    // Behind, and it stays there.
    let at = report(&w, period).voters;
    moves(&mut w, &all[4], period, wrong(1));
    assert_eq!(report(&w, period).voters, at);
    assert_eq!(w.report_tail(period).iter().map(|c| c.weight).sum::<u64>(), 0);
}

/// A network that was cut in two while its keepers voted, and has come together again.
#[test]
fn two_halves_come_together() {
    let (mut w, all, period) = ready(&[1; 7]);
    for (number, keeper) in all.iter().enumerate() {
        vote(&mut w, keeper, period, if number < 3 { A } else { B });
    }
    assert_eq!(report(&w, period).status, REPORT_OPEN, "4 of 7 are not two thirds");
    moves(&mut w, &all[0], period, B);
    assert_eq!(report(&w, period).status, REPORT_FINAL);
}

#[test]
fn a_keeper_that_weighs_something_else_since_does_not_move() {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let all = [10, 10, 10].map(|bond| w.keeper(bond * unit));
    let (cheap, dear) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let better = w.machine_of(&cheap, ix::spec(2), 2_000_000);
    let worse = w.machine_of(&dear, ix::spec(2), 3_000_000);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS + 1);
    let period = w.period();
    w.warp_past_period(period);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(1) });
    w.warp(5);
    let lease = w.award(&all[0], &customer, &order, &dear, &worse);
    vote(&mut w, &all[0], period, A);
    vote(&mut w, &all[1], period, B);
    // The award was unjust: a fifth of the bond goes, and of the weight.
    let proof = ix::prove_better_ask(&w, &finder, &lease, &better.node);
    w.ok(proof, &[&finder.key]);
    assert_eq!(w.read::<Keeper>(&all[0].keeper()).weight, 8 * unit);
    // It was counted with more than it could take along: its vote stays where it is.
    refused(&mut w, &all[0], period, B, MarketError::AlreadyVoted);
    refused(&mut w, &all[0], period, RIGHT, MarketError::AlreadyVoted);
    let meta = w.ok(ix::report_vote(&all[0], period, A), &[&all[0].key]);
    assert!(emitted(&meta).is_empty(), "a retry");
    assert_eq!((find(&w, period, A).weight, find(&w, period, B).weight), (10 * unit, 10 * unit));
    // Others go to where it is, or away from it, with all that they weigh.
    moves(&mut w, &all[1], period, A);
    assert_eq!((find(&w, period, A).weight, find(&w, period, B).weight), (20 * unit, 0));
    // Its next vote weighs what is left, and moves like any other.
    w.warp_past_period(period + 1);
    vote(&mut w, &all[0], period + 1, A);
    vote(&mut w, &all[1], period + 1, B);
    assert_eq!(report(&w, period + 1).total_weight, 28 * unit);
    moves(&mut w, &all[0], period + 1, B);
    assert_eq!((find(&w, period + 1, A).weight, find(&w, period + 1, B).weight), (0, 18 * unit));
}

#[test]
fn a_moved_vote_is_paid_where_it_is_and_once() {
    let (mut w, all, period) = ready(&[3, 1, 1, 1]);
    for (keeper, root) in all.iter().zip([A, B, B]) {
        vote(&mut w, keeper, period, root);
    }
    moves(&mut w, &all[1], period, A);
    assert_eq!(report(&w, period).status, REPORT_OPEN, "4 of 6 are not more than two thirds");
    moves(&mut w, &all[2], period, A);
    assert_eq!(report(&w, period).status, REPORT_FINAL);
    // Slower, and for nothing that won.
    vote(&mut w, &all[3], period, B);
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = 5_000);
    w.gift(&pda::fee_vault(), 5_000);
    w.warp_past_period(period + 1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let found: Report = report(&w, period);
    assert_eq!((found.reward_weight, found.reward_voters[0]), (5 * w.params.min_bond, 0b111));
    assert!(found.reward > 0);
    for (keeper, parts) in all.iter().zip([3, 1, 1]) {
        let before = w.tokens(&keeper.payment);
        w.ok(ix::rewards_claim(keeper, Some(period)), &[]);
        assert_eq!(w.tokens(&keeper.payment), before + found.reward * parts / 5);
        w.refused(ix::rewards_claim(keeper, Some(period)), &[], MarketError::NothingOwed);
    }
    w.refused(ix::rewards_claim(&all[3], Some(period)), &[], MarketError::NothingOwed);
    assert!(report(&w, period).reward_left < 3, "what shares are rounded down by");
}

/// What moves cost: among the first four, and with the most roots that there can be.
#[test]
fn moves_are_cheap_also_with_252_roots_behind() {
    let spent = |w: &mut Testbed, keeper: &Actor, period, root| {
        w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]).compute_units_consumed
    };
    let (mut w, all, period) = ready(&[2, 1, 9]);
    vote(&mut w, &all[0], period, A);
    vote(&mut w, &all[1], period, B);
    let in_front = spent(&mut w, &all[1], period, A);
    let (mut w, all, period) = ready(&[1; 256]);
    for (number, keeper) in all.iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    assert_eq!(w.report_tail(period).len(), 252);
    // From the last place, past all others, to the last but one; then one after the other to the root that leads.
    let behind = spent(&mut w, &all[255], period, wrong(254));
    let mut most = behind;
    for keeper in all[..254].iter().rev() {
        most = most.max(spent(&mut w, keeper, period, wrong(254)));
        if report(&w, period).status == REPORT_FINAL {
            break;
        }
    }
    println!("a move: {in_front} compute units in front, {behind} behind, {most} at most");
    assert!(in_front < 6_000, "{in_front}");
    assert!(most < 20_000, "{most}");
    let found = report(&w, period);
    let unit = w.params.min_bond;
    assert_eq!((found.status, found.root, found.voters), (REPORT_FINAL, wrong(254), [255; 32]));
    assert_eq!(find(&w, period, wrong(254)).weight, 171 * unit);
    assert_eq!(w.report_tail(period).len(), 252, "nobody gets a place back before the report closes");
}
