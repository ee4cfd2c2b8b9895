use gantry_market::constants::{
    OUTAGE_HOLD_SECS, OUTAGE_MAX_SECS, OUTAGE_MOVE_SECS, OUTAGE_SECS, OUTAGE_VOTE_SECS,
};
use gantry_market::errors::MarketError;
use gantry_market::events::{OutageSeen, OutageVoted};
use gantry_market::state::Node;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn more_than_two_thirds_see_an_outage_and_two_thirds_do_not() {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, 2);
    let unit = w.params.min_bond;
    let outage = s.outage(&w);
    assert_eq!((outage.weight, outage.total_weight, outage.seen_at), (2 * unit, 3 * unit, 0));
    w.refused(s.fail(&w), &[&s.keepers[0].key], MarketError::NoOutage);
    w.warp(2);
    // A keeper that heard it later: what is best for the node counts.
    let (node, later) = (s.deal.machine.node, s.answer + 1);
    let meta = w.ok(ix::outage_vote(&s.keepers[2], &node, later), &[&s.keepers[2].key]);
    let outage = s.outage(&w);
    assert_eq!((outage.node, outage.rent_payer), (node, s.keepers[0].wallet()));
    assert_eq!((outage.last_answer, outage.seen_at, outage.opened_at), (later, w.now(), w.now() - 2));
    let keeper = s.keepers[2].wallet();
    assert_emitted(&meta, &OutageVoted { node, keeper, last_answer: later, weight: unit });
    assert_emitted(&meta, &OutageSeen { node, last_answer: later, weight: 3 * unit, total_weight: 3 * unit });
}

#[test]
fn a_keeper_votes_once() {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, 1);
    w.warp(1);
    w.refused(s.vote(0), &[&s.keepers[0].key], MarketError::AlreadyVoted);
    let other = swap(s.vote(1), &s.keepers[1].keeper(), &s.keepers[2].keeper());
    w.refused(other, &[&s.keepers[1].key], MarketError::Unauthorised);
    assert_eq!(s.outage(&w).weight, w.params.min_bond);
    // Nor once more when the outage is seen.
    for keeper in [1, 2] {
        w.ok(s.vote(keeper), &[&s.keepers[keeper].key]);
    }
    w.warp(1);
    w.refused(s.vote(1), &[&s.keepers[1].key], MarketError::AlreadyVoted);
}

#[test]
fn only_keepers_with_weight_from_before_the_first_vote() {
    let mut w = Testbed::new();
    let s = w.silent();
    let pending = w.pending_keeper(9 * w.params.min_bond);
    w.set_now(s.answer + i64::from(w.params.keeper_activation_secs));
    let (node, answer) = (s.deal.machine.node, w.now() - OUTAGE_SECS);
    let vote = ix::outage_vote(&pending, &node, answer);
    w.refused(vote.clone(), &[&pending.key], MarketError::KeeperNotActive);
    w.ok(ix::outage_vote(&s.keepers[0], &node, answer), &[&s.keepers[0].key]);
    // Nine tenths of the weight appear: they have no say now, and their weight keeps the others from being enough.
    w.ok(ix::keeper_activate(&pending), &[&pending.key]);
    w.refused(vote.clone(), &[&pending.key], MarketError::KeeperNotActive);
    for keeper in &s.keepers[1..] {
        w.ok(ix::outage_vote(keeper, &node, answer), &[&keeper.key]);
    }
    assert_eq!(s.outage(&w).seen_at, 0);
    // One that leaves has no say, and makes nobody else's vote weigh more.
    w.ok(ix::keeper_request_exit(&pending), &[&pending.key]);
    w.warp(1);
    w.refused(vote, &[&pending.key], MarketError::KeeperNotActive);
    w.refused(s.fail(&w), &[&s.keepers[0].key], MarketError::NoOutage);
    w.refused(s.vote(1), &[&s.keepers[1].key], MarketError::AlreadyVoted);
}

#[test]
fn silence_is_long_enough_and_of_these_days() {
    let mut w = Testbed::new();
    let s = w.silent();
    let key = &s.keepers[0].key;
    let vote = |answer| ix::outage_vote(&s.keepers[0], &s.deal.machine.node, answer);
    w.set_now(s.answer + OUTAGE_SECS - 1);
    w.refused(s.vote(0), &[key], MarketError::TooEarly);
    w.refused(vote(i64::MAX), &[key], MarketError::TooEarly);
    w.refused(vote(i64::MIN), &[key], MarketError::TooLate);
    w.warp(1);
    let registered = w.read::<Node>(&s.deal.machine.node).registered_at;
    w.refused(vote(registered - 1), &[key], MarketError::TooLate);
    w.warp(OUTAGE_MAX_SECS);
    w.refused(vote(w.now() - OUTAGE_MAX_SECS - 1), &[key], MarketError::TooLate);
    w.ok(vote(w.now() - OUTAGE_MAX_SECS), &[key]);
}

#[test]
fn votes_count_together_for_half_a_minute() {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, 2);
    let opened = s.outage(&w).opened_at;
    w.set_now(opened + OUTAGE_VOTE_SECS + 1);
    // The third begins again, and pays no rent.
    let had = w.lamports(&s.keepers[2].wallet());
    w.ok(s.vote(2), &[&s.keepers[2].key]);
    let outage = s.outage(&w);
    assert_eq!((outage.weight, outage.opened_at, outage.seen_at), (w.params.min_bond, w.now(), 0));
    assert_eq!((w.lamports(&s.keepers[2].wallet()), outage.rent_payer), (had, s.keepers[0].wallet()));
    w.refused(s.fail(&w), &[&s.keepers[0].key], MarketError::NoOutage);
    // Those before may vote again: all in the window's last second.
    w.set_now(outage.opened_at + OUTAGE_VOTE_SECS);
    for keeper in [0, 1] {
        w.ok(s.vote(keeper), &[&s.keepers[keeper].key]);
    }
    assert_eq!(s.outage(&w).seen_at, w.now());
    // A node that stays away may be voted about again when the time to move is over.
    w.warp(OUTAGE_MOVE_SECS + 1);
    w.ok(s.vote(1), &[&s.keepers[1].key]);
    assert_eq!((s.outage(&w).weight, s.outage(&w).seen_at), (w.params.min_bond, 0));
}

#[test]
fn a_node_without_leases_needs_no_vote() {
    let mut w = Testbed::new();
    let s = w.silent();
    w.set_now(s.answer + OUTAGE_SECS);
    let vote = ix::outage_vote(&s.keepers[0], &s.spare.node, s.answer);
    w.refused(vote, &[&s.keepers[0].key], MarketError::WrongNodeStatus);
}

/// It is not stuck: the time is short, and a report that says that it is well ends it.
#[test]
fn a_node_that_was_away_gets_no_work_for_a_while() {
    for reported in [false, true] {
        let mut w = Testbed::new();
        let mut s = w.silent();
        // The period in which it was registered has no leaf for it.
        w.warp_past_period(w.period());
        s.answer = w.now();
        s.voted(&mut w, 3);
        let (seen, deal) = (w.now(), &s.deal);
        let hold = OUTAGE_HOLD_SECS.min(i64::from(w.params.period_secs));
        let award = |w: &mut Testbed, nonce| {
            let order = w.order(&deal.customer, ix::order_args(nonce));
            let provider = deal.provider.provider();
            (order, ix::order_award(&deal.keeper, &deal.customer, &order, &provider, &deal.machine.node))
        };
        let (_, refused) = award(&mut w, 2);
        w.refused(refused, &[&deal.keeper.key], MarketError::NodeUnhealthy);
        if reported {
            let period = w.period();
            w.warp_past_period(period);
            assert!(w.now() < seen + hold, "a report comes before the time is over");
            let leaf = LeafData { up_secs: 50, ..w.good_leaf(deal.machine.node, deal.lease, period) };
            let proofs = s.keepers.iter().map(|keeper| w.finalise(keeper, &[leaf])).last().expect("three");
            w.ok(ix::report_apply(&proofs[0]), &[]);
        } else {
            w.set_now(seen + hold);
        }
        let (_, accepted) = award(&mut w, 3);
        w.ok(accepted, &[&deal.keeper.key]);
    }
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let s = w.silent();
    w.set_now(s.answer + OUTAGE_SECS);
    let (keeper, key) = (&s.keepers[0], &s.keepers[0].key);
    w.refused(unsigned(s.vote(0), &keeper.wallet()), &[], InstructionError::MissingRequiredSignature);
    for at in [keeper.keeper(), pda::market(), s.deal.machine.node] {
        let fake = w.forged(&at);
        w.refused(swap(s.vote(0), &at, &fake), &[key], InstructionError::IllegalOwner);
    }
}
