use gantry_market::errors::MarketError;
use gantry_market::events::LeaseRated;
use gantry_market::state::Node;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Deal, Testbed};
use solana_instruction_error::InstructionError;

/// A lease that is over, ten minutes paid.
fn ended() -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.settle(&deal, 1, 600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    (w, deal)
}

/// Finding R 19.
#[test]
fn a_rating_weighs_the_fee_of_what_was_paid() {
    let (mut w, deal) = ended();
    let meta = w.ok(ix::lease_rate(&w, &deal.lease, 4), &[&deal.customer.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.rating_sum, node.rating_weight), (4 * 39_999, 39_999));
    assert_eq!(deal.state(&w).rating, 4);
    assert_emitted(
        &meta,
        &LeaseRated { lease: deal.lease, node: deal.machine.node, stars: 4, weight: 39_999 },
    );
}

#[test]
fn one_to_five_stars_once() {
    let (mut w, deal) = ended();
    for stars in [0, 6, 255] {
        w.refused(ix::lease_rate(&w, &deal.lease, stars), &[&deal.customer.key], MarketError::InvalidRating);
    }
    w.ok(ix::lease_rate(&w, &deal.lease, 1), &[&deal.customer.key]);
    w.refused(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key], MarketError::InvalidRating);
    assert_eq!(w.read::<Node>(&deal.machine.node).rating_sum, 39_999);
}

#[test]
fn what_cost_nothing_is_not_rated() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.refused(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key], MarketError::InvalidRating);
}

#[test]
fn not_before_the_end() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.settle(&deal, 1, 600);
    w.refused(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key], MarketError::WrongLeaseStatus);
}

#[test]
fn sums_do_not_wrap() {
    let (mut w, deal) = ended();
    w.alter(&deal.machine.node, |n: &mut Node| n.rating_sum = u64::MAX);
    w.refused(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key], MarketError::Overflow);
}

#[test]
fn a_paused_market_still_takes_ratings() {
    let (mut w, deal) = ended();
    w.pause();
    w.ok(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal) = ended();
    let other = w.provider(10_000_000_000);
    let others = w.machine(&other, 1);
    let good = ix::lease_rate(&w, &deal.lease, 5);
    let silent = unsigned(good.clone(), &deal.customer.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let own = swap(good.clone(), &deal.customer.wallet(), &deal.provider.wallet());
    w.refused(own, &[&deal.provider.key], MarketError::Unauthorised);
    let (node, lease) = (w.forged(&deal.machine.node), w.forged(&deal.lease));
    let cases = [
        ("node", deal.machine.node, others.node, MarketError::WrongAccount.into()),
        ("node's program", deal.machine.node, node, InstructionError::IllegalOwner.into()),
        ("lease's program", deal.lease, lease, InstructionError::IllegalOwner.into()),
    ];
    w.refuses_swaps(&good, &[&deal.customer.key], &cases);
}
