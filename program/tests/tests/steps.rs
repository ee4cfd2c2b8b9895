//! Governance moves in steps: by a factor of two, and once in a week on a market of real machines.

use gantry_market::constants::{STEP, STEP_SECS};
use gantry_market::errors::MarketError;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{GpuModel, Params};
use gantry_market_tests::testbed::{real_params, test_params, H100};
use gantry_market_tests::{ix, pda, Testbed};

fn propose(w: &mut Testbed, change: impl FnOnce(&mut Params)) {
    let mut params = w.market().params;
    change(&mut params);
    let authority = w.authority.insecure_clone();
    w.ok(ix::market_propose_params(w, params), &[&authority]);
}

/// The first step on this market is made.
fn stepped(params: Params) -> Testbed {
    let mut w = Testbed::with(params);
    propose(&mut w, |p| p.stake_price /= STEP);
    // Nothing was before it: it waits for the timelock alone.
    w.set_now(w.market().pending_eta);
    assert_eq!(w.market().stepped_at, 0);
    w.ok(ix::market_apply_params(), &[]);
    w.params = w.market().params;
    assert_eq!(w.market().stepped_at, w.now());
    w
}

#[test]
fn a_step_waits_for_a_week_since_the_last_one() {
    let mut w = stepped(real_params());
    let last = w.now();
    w.warp(3_600);
    let steps: [fn(&mut Params); 3] =
        [|p| p.stake_price /= STEP, |p| p.slash_work_failed_bps *= 2, |p| p.emission_cap += 1];
    for step in steps {
        propose(&mut w, step);
        assert_eq!(w.market().pending_eta, last + i64::from(STEP_SECS));
    }
    w.set_now(last + i64::from(STEP_SECS) - 1);
    w.refused(ix::market_apply_params(), &[], MarketError::TimelockRunning);
    w.warp(1);
    w.ok(ix::market_apply_params(), &[]);
    assert_eq!(w.market().stepped_at, w.now());
    // A step that nobody made for long waits for the timelock alone.
    w.warp(2 * i64::from(STEP_SECS));
    let now = w.now();
    propose(&mut w, |p| p.min_bond *= STEP);
    assert_eq!(w.market().pending_eta, now + i64::from(w.params.timelock_secs));
}

#[test]
fn other_parameters_wait_for_the_timelock_only() {
    let mut w = stepped(real_params());
    let last = w.now();
    propose(&mut w, |p| p.fee_bps = 1_100);
    assert_eq!(w.market().pending_eta, last + i64::from(w.params.timelock_secs));
    w.set_now(w.market().pending_eta);
    w.ok(ix::market_apply_params(), &[]);
    // And does not keep a step away.
    assert_eq!(w.market().stepped_at, last);
}

#[test]
fn simulated_markets_step_as_often_as_they_like() {
    let mut w = stepped(test_params());
    propose(&mut w, |p| p.stake_price /= STEP);
    assert_eq!(w.market().pending_eta, w.now() + i64::from(w.params.timelock_secs));
}

/// One parameter with another value.
type Moved = fn(&mut Params, u64);

const MOVES: [(&str, Moved, u64); 10] = [
    ("min_bond", |p, to| p.min_bond = to, 1_000_000_000),
    ("weight_cap", |p, to| p.weight_cap = to, 100_000_000_000),
    ("emission_cap", |p, to| p.emission_cap = to, 1_000_000_000_000),
    ("slash_fraud_bps", |p, to| p.slash_fraud_bps = to as u16, 10_000),
    ("slash_bad_work_bps", |p, to| p.slash_bad_work_bps = to as u16, 5_000),
    ("slash_work_failed_bps", |p, to| p.slash_work_failed_bps = to as u16, 1_000),
    ("slash_offline_bps", |p, to| p.slash_offline_bps = to as u16, 500),
    ("slash_guarantee_bps", |p, to| p.slash_guarantee_bps = to as u16, 1_000),
    ("slash_unjust_award_bps", |p, to| p.slash_unjust_award_bps = to as u16, 2_000),
    ("slash_equivocation_bps", |p, to| p.slash_equivocation_bps = to as u16, 10_000),
];

#[test]
fn each_of_them_moves_by_a_factor_of_two_at_most() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    for (name, moved, today) in MOVES {
        println!("{name}");
        for (to, near) in
            [(today / 2, true), (today / 2 - 1, false), (2 * today, true), (2 * today + 1, false)]
        {
            // What no step forbids, a share of more than all does.
            if name.ends_with("bps") && to > 10_000 {
                continue;
            }
            let mut params = w.params;
            moved(&mut params, to);
            let instruction = ix::market_propose_params(&w, params);
            match near {
                true => drop(w.ok(instruction, &[&authority])),
                false => w.refused(instruction, &[&authority], MarketError::ParameterOutOfRange),
            }
        }
    }
}

#[test]
fn a_model_in_force_changes_once_in_a_week() {
    let mut w = Testbed::with(real_params());
    let authority = w.authority.insecure_clone();
    let since = w.read::<GpuModel>(&pda::gpu_model(H100)).since;
    let dearer = |factor: u64| GpuModelArgs { min_stake: factor * ix::h100().min_stake, ..ix::h100() };
    w.ok(ix::gpu_model_propose(&w, dearer(2)), &[&authority]);
    let eta = w.read::<GpuModel>(&pda::gpu_model(H100)).pending_eta;
    let timelock = i64::from(w.params.timelock_secs);
    assert_eq!(eta, (w.now() + timelock).max(since + i64::from(STEP_SECS)));
    w.set_now(eta);
    w.ok(ix::gpu_model_apply(H100), &[]);
    w.ok(ix::gpu_model_propose(&w, dearer(4)), &[&authority]);
    assert_eq!(w.read::<GpuModel>(&pda::gpu_model(H100)).pending_eta, eta + i64::from(STEP_SECS));
    // A new model waits for the timelock alone.
    w.ok(ix::gpu_model_propose(&w, GpuModelArgs { id: 7, ..ix::h100() }), &[&authority]);
    assert_eq!(w.read::<GpuModel>(&pda::gpu_model(7)).pending_eta, eta + timelock);
}
