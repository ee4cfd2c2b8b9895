//! B1 and B2, C7: prices and clocks that somebody runs down or turns before money comes.

use gantry_market::constants::STEP_SECS;
use gantry_market::state::{Params, Rewards};
use gantry_market_tests::testbed::real_params;
use gantry_market_tests::{ix, pda, Testbed};

use crate::sums::{attempt, usdc, worth};

/// Sweeps a fee: the customer is a stranger.
fn fee(w: &mut Testbed, nonce: u64, gpus: u8, seconds: u32, price: u64) -> gantry_market_tests::Actor {
    let keeper = w.keeper(10_000_000_000);
    let provider = w.provider(80_000_000_000);
    let machine = w.machine_of(&provider, ix::spec(8), price);
    let customer = w.customer(900_000_000_000);
    let args = gantry_market::instructions::order::order_create::OrderArgs {
        gpus_per_node: gpus,
        max_price: price,
        duration_secs: seconds,
        ..ix::order_args(nonce)
    };
    let order = w.order(&customer, args);
    let lease = w.award(&keeper, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    w.warp(i64::from(seconds));
    let receipt = ix::receipt(w, &lease, &machine.key, &customer.key, 1, seconds);
    w.ok_all(&receipt, &[]);
    let end = ix::lease_end(w, &customer.wallet(), &lease, 0);
    let _ = attempt(w, &[end], &[&customer.key]);
    w.warp(200);
    w.ok(ix::lease_close(w, &customer.wallet(), &lease), &[&customer.key]);
    keeper
}

/// Votes the running period and accrues it once that may be.
fn accrue(w: &mut Testbed, keeper: &gantry_market_tests::Actor) {
    let period = w.ripe(&[keeper]);
    w.ok(ix::rewards_accrue(w, period), &[]);
}

/// What a buyer gains who accrues and buys all in one second, with dust that has waited for so long or without.
fn buys(dust: bool, wait: i64) -> i64 {
    let mut w = Testbed::new();
    let voter = w.keeper(100_000_000_000);
    let buyer = w.actor();
    if dust {
        fee(&mut w, 1, 1, 1, 2_000_000);
        accrue(&mut w, &voter);
        let rewards: Rewards = w.read(&pda::rewards());
        println!("dust {}", rewards.buy_back);
        assert!(rewards.buy_back > 0);
    }
    fee(&mut w, 2, 8, 250 * 3_600, 2_000_000);
    w.warp(wait);
    let before = worth(&w, &[&buyer], &[]);
    accrue(&mut w, &voter);
    let rewards: Rewards = w.read(&pda::rewards());
    let cost = rewards.buy_back_cost(&w.params, w.now()).expect("fits");
    println!("{} µUSDC for {} stake tokens", rewards.buy_back, cost as f64 / 1e9);
    w.ok(ix::rewards_buy_back(&w, &buyer, cost), &[&buyer.key]);
    worth(&w, &[&buyer], &[]) - before
}

#[test]
fn dust_does_not_run_the_clock_down() {
    let clean = buys(false, 86_400);
    let dusty = buys(true, 86_400);
    println!("without dust {:.6}, with {:.6}", usdc(clean), usdc(dusty));
    assert!(dusty <= clean + 1_000, "dust makes all cheaper by {}", dusty - clean);
    assert!(dusty <= 0, "the buyer gains {dusty}");
}

/// A market of real GPUs: `allow_simulated` goes up with times at nought, in one proposal or in steps.
#[test]
fn floors_of_a_real_market_stay() {
    let mut w = Testbed::with(real_params());
    let authority = w.authority.insecure_clone();
    let real = w.params;
    let tries = [
        Params { allow_simulated: 1, timelock_secs: 0, appeal_secs: 0, challenge_secs: 0, ..real },
        Params { allow_simulated: 1, ..real },
        Params { timelock_secs: 0, ..real },
        Params { appeal_secs: 0, ..real },
        Params { challenge_secs: 0, ..real },
        Params { stake_price: real.stake_price / 4, ..real },
        Params { stake_price: real.stake_price * 4, ..real },
    ];
    for params in tries {
        let propose = ix::market_propose_params(&w, params);
        let proposed = attempt(&mut w, &[propose], &[&authority]);
        let applied = proposed.clone().and_then(|()| {
            w.warp(i64::from(real.timelock_secs) + 1);
            attempt(&mut w, &[ix::market_apply_params()], &[])
        });
        println!("{proposed:?}, {applied:?}");
        assert!(applied.is_err(), "a floor is lifted");
    }
}

/// The price of stake falls by halves, each after a timelock and a week after the one before.
#[test]
fn halvings_take_a_week_each() {
    let mut w = Testbed::with(real_params());
    let authority = w.authority.insecure_clone();
    let start = w.now();
    let mut params = w.params;
    for step in 0..5 {
        params.stake_price /= 2;
        w.ok(ix::market_propose_params(&w, params), &[&authority]);
        assert!(attempt(&mut w, &[ix::market_apply_params()], &[]).is_err(), "no timelock at step {step}");
        w.warp(i64::from(params.timelock_secs));
        if step > 0 {
            assert!(
                attempt(&mut w, &[ix::market_apply_params()], &[]).is_err(),
                "no week before step {step}"
            );
            w.warp(i64::from(STEP_SECS - params.timelock_secs));
        }
        w.ok(ix::market_apply_params(), &[]);
    }
    println!("five halvings in {} s", w.now() - start);
    assert!(w.now() - start >= 5 * 86_400);
    assert!(w.now() - start >= 4 * i64::from(STEP_SECS));
}

/// C7: a fee is swept, the price of stake and the rate change, then the provider claims.
#[test]
fn emission_is_of_the_day_of_the_fee() {
    let claim = |change: bool| {
        let mut w =
            Testbed::with(Params { emission_bps: 500, ..gantry_market_tests::testbed::test_params() });
        let authority = w.authority.insecure_clone();
        w.gift(&pda::emission_vault(), 1_000_000_000_000);
        let keeper = w.keeper(10_000_000_000);
        let provider = w.provider(80_000_000_000);
        let machine = w.machine(&provider, 8);
        let customer = w.customer(900_000_000);
        let order = w.order(&customer, ix::order_args(1));
        let lease = w.award(&keeper, &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        w.warp(3_000);
        let receipt = ix::receipt(&w, &lease, &machine.key, &customer.key, 1, 3_000);
        w.ok_all(&receipt, &[]);
        w.ok(ix::lease_end(&w, &customer.wallet(), &lease, 0), &[&customer.key]);
        w.warp(200);
        w.ok(ix::lease_close(&w, &customer.wallet(), &lease), &[&customer.key]);
        if change {
            let params = Params { emission_bps: 2_000, stake_price: 500_000, ..w.params };
            w.ok(ix::market_propose_params(&w, params), &[&authority]);
            w.warp(i64::from(w.params.timelock_secs));
            w.ok(ix::market_apply_params(), &[]);
        }
        let before = worth(&w, &[&provider], &[]);
        let claim = ix::emission_claim(&provider.provider());
        println!("claim {:?}", attempt(&mut w, &[claim], &[]));
        worth(&w, &[&provider], &[]) - before
    };
    let (now, later) = (claim(false), claim(true));
    println!("claimed at once {now}, after the change {later}");
    assert!(now > 0 && later <= now);
}
