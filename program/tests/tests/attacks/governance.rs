//! Attacks by the authority.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_OFFLINE};
use gantry_market::errors::MarketError;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Keeper, Lease, Params, Provider};
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::testbed::{real_params, test_params};
use gantry_market_tests::{ix, Testbed};

use super::money::{wealth, Usd};
use super::slashes::bad_leaf;
use super::Row;
use crate::authority::seize;

/// The time to contest an award is over when the authority makes it longer; the finder is the authority's own.
/// Finding C 5.
pub fn a_change_of_parameters_makes_an_award_unjust() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let (cheap, dear) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let better = w.machine_of(&cheap, ix::spec(2), 2_000_000);
    let worse = w.machine_of(&dear, ix::spec(2), 3_000_000);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    let authority = w.authority.insecure_clone();
    let longer = Params { challenge_secs: 600, ..test_params() };
    w.ok(ix::market_propose_params(&w, longer), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs) + AWARD_VIEW_SECS);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(1) });
    w.warp(5);
    let lease = w.award(&keeper, &customer, &order, &dear, &worse);
    w.set_now(w.read::<Lease>(&lease).challenge_until + 1);
    w.ok(ix::market_apply_params(), &[]);
    let before = wealth(&w, &[&finder]);
    let proof = ix::prove_better_ask(&w, &finder, &lease, &better.node);
    assert!(w.send(&[proof], &[&finder.key]).is_err());
    assert_eq!(w.read::<Keeper>(&keeper.keeper()).bond, 10_000_000_000);
    Row {
        source: "C 5e",
        attack: "The authority changes a parameter when the time to contest an award is over, and its finder proves it",
        instead: "nothing",
        before: "+0.2, and the keeper lost 2 of 10",
        profit: Usd(wealth(&w, &[&finder]) - before),
        assumption: "",
    }
}

/// Keepers have seen the node for as long as was asked of it when the fault was opened.
/// Finding C 6.
pub fn the_authority_outdates_an_appeal() -> Row {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let strict = Params { migration_grace_secs: 0, ..test_params() };
    w.ok(ix::market_propose_params(&w, strict), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    let deal = w.running();
    let (own, stake) = (w.actor(), w.read::<Provider>(&deal.provider.provider()).stake);
    let before = wealth(&w, &[&own]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = bad_leaf(&w, deal.machine.node, deal.lease, period, FLAG_OFFLINE);
    let proof = w.finalise(&deal.keeper, &[LeafData { downtime_secs: 50, ..leaf }]).remove(0);
    w.ok(ix::fault_open(&w, &own.wallet(), &proof), &[&own.key]);
    w.ok(ix::market_apply_params(), &[]);
    let mut text = statement(&deal.machine.node, period, 1, true);
    text[68..72].copy_from_slice(&40u32.to_le_bytes());
    text[80..112].copy_from_slice(deal.lease.as_ref());
    let fault = ix::fault_of(&proof);
    let appeal = ix::slash_appeal(&w, &fault, &deal.keeper, text);
    w.ok_all(&[signed(&deal.keeper.key, &text), appeal], &[]);
    assert!(!w.exists(&fault));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, stake);
    Row {
        source: "C 6e",
        attack: "The authority changes the parameters while a fault is open, so that the appeal against it counts no more",
        instead: "nothing",
        before: "0, and the node lost 1 of 20",
        profit: Usd(wealth(&w, &[&own]) - before),
        assumption: "",
    }
}

/// The authority has a keeper and a customer of its own.
/// Finding C 7.
pub fn the_authority_slashes_by_its_models_and_parameters() -> Row {
    let mut w = Testbed::new();
    let deal = w.running_with(OrderArgs { duration_secs: 7_200, ..ix::order_args(1) });
    let finder = w.actor();
    let own = [&finder, &deal.customer];
    let (had, stake) = (wealth(&w, &own), w.read::<Provider>(&deal.provider.provider()).stake);
    seize(&mut w);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, stake);
    Row {
        source: "C 7",
        attack: "The authority puts the worst models and parameters into force that the program takes, and pauses the \
                 market, so that honest nodes are slashed",
        instead: "nothing",
        before: "0, and each node that failed by its models at once lost 2 of 20",
        profit: Usd(wealth(&w, &own) - had),
        assumption: "the program is not replaced: the upgrade authority can do that",
    }
}

/// Finding P 9.
pub fn one_proposal_lifts_every_floor() -> Row {
    let mut w = Testbed::with(real_params());
    let authority = w.authority.insecure_clone();
    let own = w.provider(20_000_000_000);
    let before = wealth(&w, &[&own]);
    let swift =
        Params { timelock_secs: 0, appeal_secs: 0, challenge_secs: 0, allow_simulated: 1, ..w.params };
    w.refused(ix::market_propose_params(&w, swift), &[&authority], MarketError::ParameterOutOfRange);
    Row {
        source: "P 9",
        attack: "The authority of a market of real machines allows simulated ones, so that its times have no least any more. \
                 Twenty halvings of the price of stake follow in a second, and emission for a fee of its own",
        instead: "nothing",
        before: "+48,000 of stake for 0.24 USDC, after one timelock",
        profit: Usd(wealth(&w, &[&own]) - before),
        assumption: "the program is not replaced: the upgrade authority can do that",
    }
}
