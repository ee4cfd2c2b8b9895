//! A report with more roots than its struct has places for.

use gantry_market::errors::MarketError;
use gantry_market::events::{ReportFinalised, ReportVoted};
use gantry_market::state::{
    Candidate, Keeper, Node, Report, Rewards, KEEPER_ACTIVE, REPORT_FINAL, REPORT_LEN, REPORT_OPEN,
};
use gantry_market_tests::actors::START_LAMPORTS;
use gantry_market_tests::events::{assert_emitted, emitted};
use gantry_market_tests::leaves::tree;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_transaction_error::TransactionError;

pub const RIGHT: [u8; 32] = [0xaa; 32];

/// Active keepers of these bonds in units of the smallest.
pub fn keepers(w: &mut Testbed, bonds: &[u64]) -> Vec<Actor> {
    let min = w.params.min_bond;
    let all: Vec<Actor> = bonds.iter().map(|bond| w.pending_keeper(bond * min)).collect();
    w.warp(i64::from(w.params.keeper_activation_secs));
    for keeper in &all {
        w.ok(ix::keeper_activate(keeper), &[&keeper.key]);
    }
    all
}

/// The same at the end of a period in which all were active.
pub fn ready(bonds: &[u64]) -> (Testbed, Vec<Actor>, u64) {
    let mut w = Testbed::new();
    let keepers = keepers(&mut w, bonds);
    let period = w.period();
    w.warp_past_period(period);
    (w, keepers, period)
}

/// A root that stands for nothing.
pub fn wrong(number: usize) -> [u8; 32] {
    let mut root = [0xee; 32];
    root[..8].copy_from_slice(&number.to_le_bytes());
    root
}

pub fn vote(w: &mut Testbed, keeper: &Actor, period: u64, root: [u8; 32]) {
    w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
}

pub fn report(w: &Testbed, period: u64) -> Report {
    w.read(&pda::report(period))
}

pub fn bytes(w: &Testbed, period: u64) -> usize {
    w.svm.get_account(&pda::report(period)).expect("the report exists").data.len()
}

pub fn rent(w: &Testbed, bytes: usize) -> u64 {
    w.svm.minimum_balance_for_rent_exemption(bytes)
}

/// A root and its weight in units.
pub type Standing = ([u8; 32], u64);

/// What the struct holds, and what is behind it.
pub fn standing(w: &Testbed, period: u64) -> (Vec<Standing>, Vec<Standing>) {
    let unit = w.params.min_bond;
    let of = |all: &[Candidate]| all.iter().map(|c| (c.root, c.weight / unit)).collect();
    (of(&report(w, period).candidates), of(&w.report_tail(period)))
}

/// f of 3f + 1 keepers do not decide, whichever order votes come in.
#[test]
fn four_liars_of_thirteen_that_vote_first_do_not_keep_the_right_root_out() {
    let (mut w, all, period) = ready(&[1; 13]);
    let (dishonest, honest) = all.split_at(4);
    for (number, dishonest) in dishonest.iter().enumerate() {
        vote(&mut w, dishonest, period, wrong(number));
    }
    let (last, before) = honest.split_last().expect("nine");
    for keeper in before {
        vote(&mut w, keeper, period, RIGHT);
    }
    assert_eq!(report(&w, period).status, REPORT_OPEN, "8 of 13 are not two thirds");
    let meta = w.ok(ix::report_vote(last, period, RIGHT), &[&last.key]);
    let unit = w.params.min_bond;
    let finalised = ReportFinalised { period, root: RIGHT, weight: 9 * unit, total_weight: 13 * unit };
    assert_emitted(&meta, &finalised);
    let found = report(&w, period);
    assert_eq!((found.status, found.root, found.proposer), (REPORT_FINAL, RIGHT, honest[0].wallet()));
}

#[test]
fn a_root_beyond_the_fourth_makes_the_account_longer_and_its_voter_pays_for_that() {
    let (mut w, all, period) = ready(&[1; 7]);
    for (number, keeper) in all[..4].iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    let at = pda::report(period);
    assert_eq!((bytes(&w, period), w.lamports(&at)), (REPORT_LEN, rent(&w, REPORT_LEN)));
    // Zero is a root like any other.
    let root = [0; 32];
    let meta = w.ok(ix::report_vote(&all[4], period, root), &[&all[4].key]);
    let longer = REPORT_LEN + size_of::<Candidate>();
    assert_eq!((bytes(&w, period), w.lamports(&at)), (longer, rent(&w, longer)));
    let paid = rent(&w, longer) - rent(&w, REPORT_LEN);
    let spent = |w: &Testbed, who: &Actor| {
        let registered = rent(w, 8 + size_of::<Keeper>()) + rent(w, 165);
        START_LAMPORTS - registered - w.lamports(&who.wallet())
    };
    assert_eq!((spent(&w, &all[1]), spent(&w, &all[4])), (0, paid), "who brings a root pays for its place");
    let event = ReportVoted { period, keeper: all[4].wallet(), root, weight: w.params.min_bond };
    assert_emitted(&meta, &event);
    let [behind] = w.report_tail(period)[..] else { panic!("one candidate") };
    assert_eq!((behind.root, behind.weight), (root, w.params.min_bond));
    assert_eq!((behind.proposer, behind.voters[0]), (all[4].wallet(), 0b10000));
    let found = report(&w, period);
    assert_eq!((found.candidate_count, found.voters[0], found.rent_payer), (4, 0b11111, all[0].wallet()));
    // A second vote for it costs nothing, and makes it heavier than one in front.
    vote(&mut w, &all[5], period, root);
    assert_eq!((bytes(&w, period), spent(&w, &all[5])), (longer, 0));
    // The next root takes another place, of which somebody has paid a part.
    w.prefund(&at);
    vote(&mut w, &all[6], period, wrong(9));
    assert_eq!(bytes(&w, period), longer + size_of::<Candidate>());
    assert_eq!(spent(&w, &all[6]), paid.saturating_sub(1_000_000));
    // Everything goes to whoever paid first.
    let (all_of_it, before) = (w.lamports(&at), w.lamports(&all[0].wallet()));
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.refused(ix::report_close(period, &all[4].wallet()), &[], MarketError::WrongAccount);
    w.ok(ix::report_close(period, &all[0].wallet()), &[]);
    assert!(!w.exists(&at));
    assert_eq!(w.lamports(&all[0].wallet()), before + all_of_it);
}

#[test]
fn who_cannot_pay_for_a_place_does_not_get_one() {
    let (mut w, all, period) = ready(&[1; 6]);
    for (number, keeper) in all[..4].iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    let mut poor = w.svm.get_account(&all[4].wallet()).expect("exists");
    poor.lamports = rent(&w, 0);
    w.svm.set_account(all[4].wallet(), poor).expect("account is written");
    // The runtime's own error: what would be left in the wallet is too little for one.
    let refused = w.send(&[ix::report_vote(&all[4], period, RIGHT)], &[&all[4].key]).expect_err("refused");
    assert!(matches!(refused.err, TransactionError::InsufficientFundsForRent { .. }), "{:?}", refused.err);
    assert_eq!((bytes(&w, period), report(&w, period).voters[0]), (REPORT_LEN, 0b1111));
    // It may still vote for what has a place.
    vote(&mut w, &all[5], period, RIGHT);
    vote(&mut w, &all[4], period, RIGHT);
    assert_eq!(standing(&w, period).0[0], (RIGHT, 2));
}

#[test]
fn the_heaviest_four_are_in_front() {
    let (mut w, all, period) = ready(&[3, 2, 2, 1, 1, 1, 1, 2, 1, 9]);
    for (number, keeper) in all[..4].iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    // As light as the lightest: what is there stays.
    vote(&mut w, &all[4], period, wrong(4));
    let front = vec![(wrong(0), 3), (wrong(1), 2), (wrong(2), 2), (wrong(3), 1)];
    assert_eq!(standing(&w, period), (front, vec![(wrong(4), 1)]));
    vote(&mut w, &all[5], period, wrong(5));
    // Heavier: the two change places, with all that they have.
    vote(&mut w, &all[6], period, wrong(5));
    let front = vec![(wrong(0), 3), (wrong(1), 2), (wrong(2), 2), (wrong(5), 2)];
    assert_eq!(standing(&w, period), (front, vec![(wrong(4), 1), (wrong(3), 1)]));
    let moved = report(&w, period).candidates[3];
    assert_eq!((moved.proposer, moved.voters[0]), (all[5].wallet(), 0b110_0000));
    let moved = w.report_tail(period)[1];
    assert_eq!((moved.proposer, moved.voters[0]), (all[3].wallet(), 0b1000));
    // Of several that are lightest, the first goes.
    vote(&mut w, &all[7], period, wrong(3));
    let front = vec![(wrong(0), 3), (wrong(3), 3), (wrong(2), 2), (wrong(5), 2)];
    assert_eq!(standing(&w, period), (front, vec![(wrong(4), 1), (wrong(1), 2)]));
    // One in front that grows stays where it is.
    vote(&mut w, &all[8], period, wrong(2));
    assert_eq!(standing(&w, period).0[2], (wrong(2), 3));
    // A new root may be heavy at once.
    vote(&mut w, &all[9], period, RIGHT);
    let front = vec![(wrong(0), 3), (wrong(3), 3), (wrong(2), 3), (RIGHT, 9)];
    assert_eq!(standing(&w, period), (front, vec![(wrong(4), 1), (wrong(1), 2), (wrong(5), 2)]));
    assert_eq!(report(&w, period).candidates[3].proposer, all[9].wallet());
}

#[test]
fn a_vote_behind_the_front_counts_once() {
    let (mut w, all, period) = ready(&[1; 6]);
    for (number, keeper) in all.iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    let before = (standing(&w, period), bytes(&w, period), w.lamports(&all[5].wallet()));
    let meta = w.ok(ix::report_vote(&all[5], period, wrong(5)), &[&all[5].key]);
    assert!(emitted(&meta).is_empty(), "a retry");
    // Roots behind that nobody has brought are not brought by a vote that is counted already.
    w.refused(ix::report_vote(&all[5], period, RIGHT), &[&all[5].key], MarketError::VoteNotHeavier);
    assert_eq!((standing(&w, period), bytes(&w, period), w.lamports(&all[5].wallet())), before);
    let twice = [ix::report_vote(&all[5], period, wrong(5)), ix::report_vote(&all[5], period, RIGHT)];
    w.refused_all(&twice, &[&all[5].key], MarketError::VoteNotHeavier);
}

#[test]
fn votes_behind_the_front_weigh_no_more_than_all() {
    let (mut w, all, period) = ready(&[1; 6]);
    for (number, keeper) in all[..5].iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    w.alter(&all[5].keeper(), |k: &mut Keeper| k.weight *= 3);
    let next = ix::report_vote(&all[5], period, wrong(5));
    w.refused(next, &[&all[5].key], MarketError::InvariantBroken);
    // An account that ends in the middle of a candidate is no report.
    let mut cut = w.svm.get_account(&pda::report(period)).expect("exists");
    cut.data.pop();
    w.svm.set_account(pda::report(period), cut).expect("account is written");
    w.alter(&all[5].keeper(), |k: &mut Keeper| k.weight /= 3);
    let next = ix::report_vote(&all[5], period, wrong(0));
    w.refused(next, &[&all[5].key], MarketError::InvariantBroken);
}

/// The most that can stand: every keeper has a root of its own.
#[test]
fn every_one_of_256_keepers_may_have_a_root_of_its_own() {
    let (mut w, all, period) = ready(&[1; 256]);
    let mut most = 0;
    for (number, keeper) in all.iter().enumerate() {
        let meta = w.ok(ix::report_vote(keeper, period, wrong(number)), &[&keeper.key]);
        most = most.max(meta.compute_units_consumed);
    }
    println!("the dearest of 256 votes took {most} compute units");
    assert!(most < 60_000, "{most}");
    assert_eq!(w.report_tail(period).len(), 252);
    assert_eq!(bytes(&w, period), REPORT_LEN + 252 * size_of::<Candidate>());
    let found = report(&w, period);
    assert_eq!((found.status, found.candidate_count, found.voters), (REPORT_OPEN, 4, [255; 32]));
    for (number, keeper) in all.iter().enumerate().rev().take(3) {
        let meta = w.ok(ix::report_vote(keeper, period, wrong(number)), &[&keeper.key]);
        assert!(emitted(&meta).is_empty(), "a retry");
        w.refused(ix::report_vote(keeper, period, RIGHT), &[&keeper.key], MarketError::VoteNotHeavier);
    }
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &all[0].wallet()), &[]);
}

/// 84 dishonest keepers of 256, all of them first; leaves, rewards and the end go on as ever.
#[test]
fn a_final_report_with_a_long_tail_works_like_any_other() {
    let mut w = Testbed::new();
    let provider = w.provider(40_000_000_000);
    let machine = w.machine(&provider, 1);
    let all = keepers(&mut w, &[1; 256]);
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let good = w.good_leaf(machine.node, Address::default(), period);
    let (root, proofs) = tree(&[good]);
    for (number, keeper) in all.iter().enumerate() {
        vote(&mut w, keeper, period, if number < 84 { wrong(number) } else { root });
    }
    let found = report(&w, period);
    assert_eq!((found.status, found.root, found.proposer), (REPORT_FINAL, root, all[84].wallet()));
    assert_eq!(w.report_tail(period).len(), 81);
    assert!(all.iter().all(|who| w.read::<Keeper>(&who.keeper()).status == KEEPER_ACTIVE));
    w.ok(ix::report_apply(&proofs[0]), &[]);
    assert_eq!(w.read::<Node>(&machine.node).last_report_period, period);
    // 172 of the keepers share the reward.
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = 5_160);
    w.gift(&pda::fee_vault(), 5_160);
    w.warp_past_period(period + 1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let share = report(&w, period).reward / 172;
    assert!(share > 0);
    let before = w.tokens(&all[84].payment);
    w.ok(ix::rewards_claim(&all[84], Some(period)), &[]);
    assert_eq!(w.tokens(&all[84].payment), before + share);
    w.refused(ix::rewards_claim(&all[0], Some(period)), &[], MarketError::NothingOwed);
    assert_eq!(w.report_tail(period).len(), 81, "nobody touches it");
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &all[0].wallet()), &[]);
}
