//! Attacks on fees that wait.

use gantry_market::constants::{DAY, IDLE_REPORTS};
use gantry_market::state::{Market, Params, Rewards};
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, pda, Testbed};

use super::money::{wealth, Usd};
use super::Row;

/// Finding P 6.
pub fn dust_runs_the_buy_backs_clock_down() -> Row {
    let mut w = Testbed::new();
    let deal = w.swept();
    let first = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, first), &[]);
    // 8,000 µUSDC wait for a day; then the fees of a large lease are swept.
    w.warp(DAY as i64);
    let fees = 480_000_000;
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = fees);
    w.gift(&pda::fee_vault(), fees);
    let second = w.ripe(&[&deal.keeper]);
    let buyer = w.actor();
    let before = wealth(&w, &[&buyer]);
    let at_once = [ix::rewards_accrue(&w, second), ix::rewards_buy_back(&w, &buyer, u64::MAX)];
    w.ok_all(&at_once, &[&buyer.key]);
    Row {
        source: "P 6",
        attack: "Less than a cent waits for a buy-back for a day. Then 480 USDC of fees are swept: all of it would be offered \
                 at twice the price of stake in the transaction that sets it aside",
        instead: "waits until the price is right",
        before: "+53.34",
        profit: Usd(wealth(&w, &[&buyer]) - before),
        assumption: "",
    }
}

/// Finding P 7.
pub fn a_weight_grows_between_the_vote_and_the_claim() -> Row {
    let play = |grows: bool| {
        let mut w = Testbed::new();
        let unit = w.params.min_bond;
        let cap =
            |w: &mut Testbed, cap: u64| w.alter(&pda::market(), |m: &mut Market| m.params.weight_cap = cap);
        cap(&mut w, unit);
        let own = w.keeper(8 * unit);
        let others = [w.keeper(unit), w.keeper(unit)];
        let deal = w.swept();
        let period = w.ripe(&[&own, &others[0], &others[1], &deal.keeper]);
        w.ok(ix::rewards_accrue(&w, period), &[]);
        if !grows {
            w.ok(ix::rewards_claim(&own, Some(period)), &[]);
            return wealth(&w, &[&own]);
        }
        for _ in 0..=IDLE_REPORTS {
            w.voted(&[&others[0], &others[1], &deal.keeper]);
        }
        w.ok(ix::keeper_suspend(&own.keeper()), &[]);
        cap(&mut w, 8 * unit);
        w.warp(i64::from(w.params.keeper_activation_secs));
        w.ok(ix::keeper_activate(&own), &[&own.key]);
        let _refused = w.send(&[ix::rewards_claim(&own, Some(period))], &[]);
        wealth(&w, &[&own])
    };
    Row {
        source: "P 7",
        attack: "A keeper with a quarter of the weight does not claim its share of a report. It is suspended, the largest \
                 weight is raised, and it comes back with four times its weight",
        instead: "claims its share",
        before: "+0.009: the shares of all others",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Finding P 8.
pub fn emission_waits_for_better_parameters() -> Row {
    let play = |waits: bool| {
        let mut w = Testbed::with(Params { emission_bps: 500, emission_cap: u64::MAX, ..test_params() });
        let (deal, authority) = (w.swept(), w.authority.insecure_clone());
        w.gift(&pda::emission_vault(), 1_000_000_000);
        if !waits {
            w.ok(ix::emission_claim(&deal.provider.provider()), &[]);
        }
        let better = Params { emission_bps: 2_000, stake_price: w.params.stake_price / 2, ..w.params };
        w.ok(ix::market_propose_params(&w, better), &[&authority]);
        w.warp(i64::from(w.params.timelock_secs));
        w.ok(ix::market_apply_params(), &[]);
        let _nothing = w.send(&[ix::emission_claim(&deal.provider.provider())], &[]);
        wealth(&w, &[&deal.provider])
    };
    Row {
        source: "P 8",
        attack: "A provider claims its emission only after a change of parameters: 20 % of the fee in place of 5 %, at half of \
                 the price of stake",
        instead: "claims at once",
        before: "+0.014: eight times what its fees had earned",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}
