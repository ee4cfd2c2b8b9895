use gantry_market::errors::MarketError;
use gantry_market::events::DisputeVoted;
use gantry_market::state::{Dispute, Keeper, DISPUTE_BAD_OUTPUT};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_instruction_error::InstructionError;

/// A disputed lease and three keepers of one, two and three bonds, of which the first awarded it.
fn disputed() -> (Testbed, Deal, Vec<Actor>) {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let keepers = vec![w.keeper(2 * unit), w.keeper(3 * unit)];
    let deal = w.running();
    // Activation in the same second as the dispute would not count.
    w.warp(1);
    let open = ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]);
    w.ok(open, &[&deal.customer.key]);
    (w, deal, keepers)
}

#[test]
fn weights_add_up_on_both_sides() {
    let (mut w, deal, keepers) = disputed();
    let meta = w.ok(ix::dispute_vote(&keepers[0], &deal.lease, 1), &[&keepers[0].key]);
    let (dispute, keeper) = (pda::dispute(&deal.lease), keepers[0].wallet());
    assert_emitted(&meta, &DisputeVoted { dispute, keeper, uphold: 1, weight: 2_000_000_000 });
    w.ok(ix::dispute_vote(&keepers[1], &deal.lease, 0), &[&keepers[1].key]);
    w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, 1), &[&deal.keeper.key]);
    let state: Dispute = w.read(&dispute);
    assert_eq!((state.upheld_weight, state.rejected_weight), (3_000_000_000, 3_000_000_000));
}

#[test]
fn one_vote_each() {
    let (mut w, deal, keepers) = disputed();
    w.ok(ix::dispute_vote(&keepers[0], &deal.lease, 1), &[&keepers[0].key]);
    for uphold in [1, 0] {
        w.refused(
            ix::dispute_vote(&keepers[0], &deal.lease, uphold),
            &[&keepers[0].key],
            MarketError::AlreadyVoted,
        );
    }
    let vote = ix::dispute_vote(&keepers[1], &deal.lease, 2);
    w.refused(vote, &[&keepers[1].key], MarketError::UnknownVote);
}

#[test]
fn only_keepers_that_were_active_before_the_dispute() {
    let (mut w, deal, keepers) = disputed();
    let new = w.keeper(w.params.min_bond);
    w.refused(ix::dispute_vote(&new, &deal.lease, 1), &[&new.key], MarketError::KeeperNotActive);
    let opened: i64 = w.read::<Dispute>(&pda::dispute(&deal.lease)).opened_at;
    w.alter(&new.keeper(), |k: &mut Keeper| k.active_since = opened);
    w.refused(ix::dispute_vote(&new, &deal.lease, 1), &[&new.key], MarketError::KeeperNotActive);
    w.ok(ix::keeper_request_exit(&keepers[0]), &[&keepers[0].key]);
    let vote = ix::dispute_vote(&keepers[0], &deal.lease, 1);
    w.refused(vote, &[&keepers[0].key], MarketError::KeeperNotActive);
}

#[test]
fn until_it_closes() {
    let (mut w, deal, keepers) = disputed();
    w.warp(299);
    w.ok(ix::dispute_vote(&keepers[0], &deal.lease, 1), &[&keepers[0].key]);
    w.warp(1);
    let late = ix::dispute_vote(&keepers[1], &deal.lease, 1);
    w.refused(late, &[&keepers[1].key], MarketError::TooLate);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal, keepers) = disputed();
    let good = ix::dispute_vote(&keepers[0], &deal.lease, 1);
    let wallet = keepers[0].wallet();
    w.refused(unsigned(good.clone(), &wallet), &[], InstructionError::MissingRequiredSignature);
    let mut by_other = good.clone();
    by_other.accounts[0].pubkey = keepers[1].wallet();
    w.refused(by_other, &[&keepers[1].key], MarketError::Unauthorised);
    for at in [keepers[0].keeper(), pda::dispute(&deal.lease)] {
        let fake = w.forged(&at);
        let key = [&keepers[0].key];
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
}
