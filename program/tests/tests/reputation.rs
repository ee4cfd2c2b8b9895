//! Reputation is made of fees that nobody gets back: nothing else moves completion and ratings.

use gantry_market::constants::{FAILURE_PART, PRIOR_FEES};
use gantry_market::math::reputation::{failure_weight, reputation_bps};
use gantry_market::state::Node;
use gantry_market_tests::{ix, Testbed};

/// A provider that failed thirty leases rents its own machine three hundred times, starts, ends and closes, and pays
/// nothing.
#[test]
fn unpaid_leases_buy_no_reputation() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let customer = w.customer(100_000_000);
    w.alter(&machine.node, |n: &mut Node| n.fees_failed = 30 * PRIOR_FEES / FAILURE_PART);
    let reputation = |w: &Testbed| reputation_bps(&w.read::<Node>(&machine.node), w.now());
    let before = reputation(&w);
    for nonce in 1..=300 {
        let order = w.order(&customer, ix::order_args(nonce));
        let lease = w.award(&keeper, &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        w.ok(ix::lease_end(&w, &customer.wallet(), &lease, 0), &[&customer.key]);
        w.ok(ix::lease_close(&w, &customer.wallet(), &lease), &[&customer.key]);
    }
    assert_eq!(reputation(&w), before);
    assert_eq!(w.read::<Node>(&machine.node).jobs_completed, 0);
}

#[test]
fn completed_leases_weigh_the_fees_that_are_swept() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_completed, node.fees_completed, node.fees_failed), (1, 39_999, 0));
    assert_eq!(node.record_since, w.now());
}

/// Finding R 19.
#[test]
fn a_failed_lease_weighs_the_time_that_it_was_funded_for() {
    // 120 USDC of leases at least, and the prior at most.
    assert_eq!(failure_weight(0), 14_400_000);
    assert_eq!(failure_weight(14_400_001), 14_400_001);
    assert_eq!(failure_weight(u64::MAX), 144_000_000);
    let mut w = Testbed::new();
    let deal = w.awarded_with(gantry_market::instructions::order::order_create::OrderArgs {
        // Thirty hours of one GPU at 2 USDC an hour: 60 USDC, 7.20 of fees.
        duration_secs: 108_000,
        ..ix::order_args(1)
    });
    w.warp(i64::from(w.params.start_deadline_secs) + 1);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_failed, node.fees_failed), (1, PRIOR_FEES / FAILURE_PART));
}

/// What a new node gains by paying fees to itself, ratings of five stars included: half of the way for 500 GPU-hours'
/// fees, and each further part costs more.
#[test]
fn reputation_moves_from_its_prior_by_fees_alone() {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let mut reputation = |fees: u64, stars: u64| {
        w.alter(&machine.node, |n: &mut Node| {
            (n.fees_completed, n.rating_weight, n.rating_sum) = (fees, fees, stars * fees);
        });
        reputation_bps(&w.read::<Node>(&machine.node), w.now())
    };
    assert_eq!(reputation(0, 5), 8_500);
    assert_eq!(reputation(PRIOR_FEES / 100, 5), 8_504);
    assert_eq!(reputation(PRIOR_FEES, 5), 8_750);
    assert_eq!(reputation(9 * PRIOR_FEES, 5), 8_950);
    assert_eq!(reputation(PRIOR_FEES, 1), 7_750);
}
