//! Actions that delay others, lower their reputation, or stop keepers.

use gantry_market::constants::{AWARD_VIEW_SECS, DAY};
use gantry_market::errors::MarketError;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{Lease, Node, Report, REPORT_FINAL};
use gantry_market_tests::setups::ASK;
use gantry_market_tests::{ix, pda, Testbed};
use solana_signer::Signer;

use super::super::money::{wealth, Usd};
use super::Harm;

/// Finding P 12. The customer's start deadline passes each time that the decoy may be awarded.
pub fn a_decoy_delays_orders_for_a_day() -> Harm {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let own = w.provider(80_000_000_000);
    let decoy = w.machine_of(&own, ix::spec(8), 1);
    let customer = w.customer(1_000_000_000);
    w.warp(AWARD_VIEW_SECS + 1);
    let before = wealth(&w, &[&own]);
    let (end, mut delayed) = (w.now() + DAY as i64, 0);
    while w.now() < end {
        delayed += 1;
        let order = w.order(&customer, ix::order_args(delayed));
        let lease = w.award(&keeper, &customer, &order, &own, &decoy);
        w.warp(i64::from(w.params.start_deadline_secs) + 1);
        w.ok(ix::lease_abort(&w, &lease), &[]);
        w.set_now(w.read::<Node>(&decoy.node).absent.until + 1);
    }
    Harm {
        source: "P 12",
        action: "A node offers a price of almost nothing and starts no lease for a day",
        cost: Usd(before - wealth(&w, &[&own])),
        worth: Usd(0),
        harm: format!("{delayed} orders are delayed by two minutes each"),
        bound: "each missed start doubles the time until its next order, and lowers its reputation",
    }
}

/// Finding R 19.
pub fn an_honest_lease_gets_one_star() -> Harm {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.settle(&deal, 1, 600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let paid = w.read::<Lease>(&deal.lease).paid;
    let asks = |w: &Testbed| {
        let node: Node = w.read(&deal.machine.node);
        let reputation = reputation_bps(&node, w.now());
        (reputation, score(ASK, reputation, 0).expect("fits"))
    };
    let (was, fair) = asks(&w);
    w.ok(ix::lease_rate(&w, &deal.lease, 1), &[&deal.customer.key]);
    let (is, unfair) = asks(&w);
    Harm {
        source: "R 19",
        action: "A customer gives one star to a lease of ten minutes that was served",
        cost: Usd(i128::from(paid) * 1_000),
        worth: Usd(0),
        harm: format!(
            "the reputation falls from {was} to {is}, which counts like a price that is {} µUSDC an hour higher",
            unfair - fair
        ),
        bound: "a rating has the weight of the fee that was paid, against a prior of 144 USDC of fees",
    }
}

/// The tests of `lease_end` have the rule.
pub fn a_lease_is_left_at_once() -> Harm {
    let play = |at_once: bool| {
        let mut w = Testbed::new();
        let deal = w.running();
        w.warp(600);
        let (before, customer) = (wealth(&w, &[&deal.provider]), wealth(&w, &[&deal.customer]));
        if at_once {
            let end = ix::lease_end(&w, &deal.provider.wallet(), &deal.lease, 1);
            w.ok(end, &[&deal.provider.key]);
        }
        let served = if at_once { 600 - w.params.notice_secs } else { 600 };
        w.settle(&deal, 1, served);
        (wealth(&w, &[&deal.provider]) - before, wealth(&w, &[&deal.customer]) - customer)
    };
    let ((stayed, paid), (left, less)) = (play(false), play(true));
    assert!(less > paid, "the customer pays less");
    Harm {
        source: "–",
        action: "A provider ends a lease without notice after ten minutes",
        cost: Usd(stayed - left),
        worth: Usd(0),
        harm: "the customer has no time to move the job, and does not pay for the time of the notice"
            .to_owned(),
        bound: "the provider loses the pay for the notice, and the machine's record has a failure",
    }
}

/// The tests of `node_register` have the rule.
pub fn another_ones_gpus_are_claimed() -> Harm {
    let mut w = Testbed::new();
    let (thief, owner) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let before = wealth(&w, &[&thief]);
    let (false_key, key) = (w.fresh_key(), w.fresh_key());
    let devices = ix::devices(&key.pubkey(), 1);
    let claim = ix::node_register_with(&thief, &false_key.pubkey(), ix::spec(1), ASK, devices);
    w.ok(claim, &[&thief.key, &false_key]);
    let own = ix::node_register_with(&owner, &key.pubkey(), ix::spec(1), ASK, devices);
    w.ok(own, &[&owner.key, &key]);
    Harm {
        source: "–",
        action: "Somebody registers the GPU of another before its owner does",
        cost: Usd(before - wealth(&w, &[&thief])),
        worth: Usd(0),
        harm: "the owner registers it too, and gets no work until evidence shows the real owner".to_owned(),
        bound: "the false machine needs stake, which is slashed when its claims are proven false",
    }
}

/// A keeper with just more than a third of the weight.
pub fn a_third_of_the_weight_does_not_vote() -> Harm {
    let mut w = Testbed::new();
    let (votes, silent) = (w.keeper(19_000_000_000), w.keeper(10_000_000_000));
    let deal = w.running();
    let before = wealth(&w, &[&silent]);
    let period = w.period();
    w.warp_past_period(period);
    w.ok(ix::report_vote(&votes, period, [5; 32]), &[&votes.key]);
    let report: Report = w.read(&pda::report(period));
    assert_ne!(report.status, REPORT_FINAL);
    // What both sides sign is paid all the same.
    let paid = w.tokens(&deal.payout());
    w.settle(&deal, 1, 60);
    assert!(w.tokens(&deal.payout()) > paid);
    w.refused(ix::keeper_suspend(&silent.keeper()), &[], MarketError::KeeperNotIdle);
    Harm {
        source: "R 6",
        action: "A keeper with more than a third of the weight does not vote",
        cost: Usd(before - wealth(&w, &[&silent])),
        worth: Usd(0),
        harm: "no report becomes final: no slashing, and payment by signed receipts only".to_owned(),
        bound: "this needs a third of all bonds, which earn nothing in that time. The quorum is two thirds, so that one keeper cannot decide alone",
    }
}
