//! Attacks on reputation, and on what fees bring back.

use gantry_market::constants::{FLAG_UNHEALTHY, FULL_AGE_SECS};
use gantry_market::errors::MarketError;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::state::{Node, Params, NODE_ACTIVE, NODE_HIBERNATED};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;

use super::money::{wealth, Usd};
use super::Row;
use crate::dispute_uphold::upheld;

/// Finding C 6.
pub fn unpaid_leases_buy_reputation() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let customer = w.customer(100_000_000);
    w.alter(&machine.node, |n: &mut Node| n.fees_failed = 100_000_000);
    let reputation = |w: &Testbed| reputation_bps(&w.read::<Node>(&machine.node), w.now());
    let (had, before) = (wealth(&w, &[&provider, &customer]), reputation(&w));
    for nonce in 1..=30 {
        let order = w.order(&customer, ix::order_args(nonce));
        let lease = w.award(&keeper, &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        w.ok(ix::lease_end(&w, &customer.wallet(), &lease, 0), &[&customer.key]);
        w.ok(ix::lease_close(&w, &customer.wallet(), &lease), &[&customer.key]);
    }
    assert_eq!(reputation(&w), before, "nothing was bought");
    Row {
        source: "C 6a",
        attack: "A provider rents its own node again and again, pays nothing, and gains reputation",
        instead: "nothing",
        before: "0 USDC for 1,754 of 10,000 points of reputation (300 leases)",
        profit: Usd(wealth(&w, &[&provider, &customer]) - had),
        assumption: "",
    }
}

/// Finding C 8.
pub fn a_provider_with_a_lost_dispute_starts_afresh() -> Row {
    let play = |afresh: bool| {
        let (mut w, deal, payer) = upheld();
        w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
        w.warp(300);
        w.ok(ix::slash_apply(&w, &pda::dispute_fault(&deal.lease)), &[]);
        if afresh {
            w.ok(ix::provider_stake(&w, &deal.provider, 50_000_000_000), &[&deal.provider.key]);
            let next = w.machine(&deal.provider, 1);
            let bps = [next.node, deal.machine.node].map(|at| w.read::<Node>(&at).dispute_bps);
            assert_eq!(bps[0], bps[1], "it follows");
        }
        wealth(&w, &[&deal.provider])
    };
    Row {
        source: "C 8d, R 15",
        attack: "A provider that lost a dispute registers another node, of which nothing bad is known",
        instead: "keeps the node",
        before: "0: the dispute lowered no reputation",
        profit: Usd(play(true) - play(false)),
        assumption: "a provider under a new wallet starts with the reputation of a new one",
    }
}

/// Finding C 8.
pub fn an_unhealthy_machine_goes_on_selling() -> Row {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let before = wealth(&w, &[&deal.provider]);
    let period = w.period() + 1;
    w.warp_past_period(period);
    let good = w.good_leaf(deal.machine.node, Address::default(), period);
    let proof = w.finalise(&deal.keeper, &[LeafData { flags: FLAG_UNHEALTHY, ..good }]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    let order = w.order(&deal.customer, ix::order_args(2));
    let award =
        ix::order_award(&deal.keeper, &deal.customer, &order, &deal.provider.provider(), &deal.machine.node);
    assert!(w.send(&[award], &[&deal.keeper.key]).is_err());
    Row {
        source: "C 8c, R 14",
        attack: "A provider continues to sell a machine that final reports call unhealthy",
        instead: "mends it first",
        before: "+1.76 for each hour sold",
        profit: Usd(wealth(&w, &[&deal.provider]) - before),
        assumption: "",
    }
}

/// One owner is customer, provider, and three tenths of the keepers, which award the lease too.
/// Finding R 19.
pub fn wash_trading_for_emission() -> Row {
    let mut w = Testbed::with(Params { emission_bps: 2_000, emission_cap: u64::MAX, ..test_params() });
    let unit = w.params.min_bond;
    let honest = w.keeper(7 * unit);
    let second = w.keeper(2 * unit);
    w.gift(&pda::emission_vault(), 1_000_000_000_000);
    let deal = w.running();
    let own = [&deal.keeper, &deal.provider, &deal.customer, &second];
    let before = wealth(&w, &own);
    w.warp(3_600);
    w.settle(&deal, 1, 3_600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key]);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    w.ok(ix::emission_claim(&deal.provider.provider()), &[]);
    let period = w.ripe(&[&honest, &deal.keeper, &second]);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    for keeper in [&deal.keeper, &second] {
        w.ok(ix::rewards_claim(keeper, Some(period)), &[]);
    }
    Row {
        source: "R 19",
        attack: "A provider rents its own node for 2 USDC and rates it five stars. It takes emission (20 % of the \
                 fee), the award's share, and the shares of its keepers (30 % of the weight)",
        instead: "nothing",
        before: "−0.146400",
        profit: Usd(wealth(&w, &own) - before),
        assumption: "The token is worth at most 4 × `stake_price` at an emission of 20 % (a buy-back offers at most 2 \
                     ×). Reputation is worth less than the fees that it costs",
    }
}

/// Finding P 22.
pub fn a_sleeping_node_grows_old() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let (provider, customer) = (w.provider(20_000_000_000), w.customer(100_000_000));
    let machine = w.machine(&provider, 2);
    let reputation = |w: &Testbed| reputation_bps(&w.read::<Node>(&machine.node), w.now());
    let (had, before) = (wealth(&w, &[&provider]), reputation(&w));
    for status in [NODE_HIBERNATED, NODE_ACTIVE] {
        w.ok(
            ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, ASK, status),
            &[&provider.key],
        );
        w.warp(FULL_AGE_SECS as i64);
    }
    assert_eq!(reputation(&w), before, "nobody has checked it");
    // Nor is it a machine of some uptime.
    let mut args = ix::order_args(1);
    args.requirement.min_uptime_bps = 1;
    let order = w.order(&customer, args);
    let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
    w.refused(award, &[&keeper.key], MarketError::UnsuitableReputation);
    Row {
        source: "P 22",
        attack: "A provider registers a machine and lets it sleep for half a year, so that it is an old one",
        instead: "nothing",
        before: "0 USDC for 1,000 of 10,000 points of reputation, and an uptime of 100 % of 0 checks",
        profit: Usd(wealth(&w, &[&provider]) - had),
        assumption: "",
    }
}
