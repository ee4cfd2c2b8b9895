use gantry_market::constants::IDLE_REPORTS;
use gantry_market::errors::MarketError;
use gantry_market::events::KeeperSuspended;
use gantry_market::state::{Keeper, KEEPER_ACTIVE, KEEPER_PENDING, NO_PLACE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::swap;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_instruction_error::InstructionError;

const UNIT: u64 = 1_000_000_000;

/// A keeper that makes reports final alone, and one that does not vote.
fn pair() -> (Testbed, Actor, Actor) {
    let mut w = Testbed::new();
    let voter = w.keeper(4 * UNIT);
    let idle = w.keeper(UNIT);
    (w, voter, idle)
}

/// Reports of `count` periods become final without the other one.
fn without(w: &mut Testbed, voter: &Actor, count: u64) {
    for _ in 0..count {
        w.voted(&[voter]);
    }
}

#[test]
fn a_keeper_that_does_not_vote_loses_its_weight() {
    let (mut w, voter, idle) = pair();
    without(&mut w, &voter, IDLE_REPORTS);
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
    without(&mut w, &voter, 1);
    let meta = w.ok(ix::keeper_suspend(&idle.keeper()), &[]);
    let event = KeeperSuspended { keeper: idle.keeper(), reports: 25, total_weight: 4 * UNIT };
    assert_emitted(&meta, &event);
    let keeper: Keeper = w.read(&idle.keeper());
    assert_eq!((keeper.status, keeper.weight, keeper.bond), (KEEPER_PENDING, 0, UNIT));
    assert_eq!((keeper.index, w.market().keeper_count), (NO_PLACE, 1));
    assert_eq!((keeper.pending_since, keeper.former_weight, keeper.weight_since), (w.now(), UNIT, w.now()));
    assert_eq!(w.market().total_weight, 4 * UNIT);
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
}

/// Finding R 6.
#[test]
fn its_wallet_activates_it_again_after_the_delay() {
    let (mut w, voter, idle) = pair();
    without(&mut w, &voter, IDLE_REPORTS + 1);
    w.ok(ix::keeper_suspend(&idle.keeper()), &[]);
    w.refused(ix::keeper_activate(&idle), &[&idle.key], MarketError::TooEarly);
    let period = w.period();
    w.warp_past_period(period);
    w.refused(ix::report_vote(&idle, period, [5; 32]), &[&idle.key], MarketError::KeeperNotActive);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.ok(ix::keeper_activate(&idle), &[&idle.key]);
    let keeper: Keeper = w.read(&idle.keeper());
    assert_eq!((keeper.status, keeper.weight, keeper.active_since), (KEEPER_ACTIVE, UNIT, w.now()));
    // It starts anew.
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
    without(&mut w, &voter, IDLE_REPORTS);
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
}

/// Finding R 6.
#[test]
fn a_vote_in_time_keeps_the_weight_and_a_late_copy_does_not() {
    let (mut w, voter, idle) = pair();
    without(&mut w, &voter, IDLE_REPORTS);
    w.voted(&[&voter, &idle]);
    without(&mut w, &voter, IDLE_REPORTS);
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
    // One second after the grace it copies what is final.
    let period = w.voted(&[&voter]);
    w.warp(6);
    w.ok(ix::report_vote(&idle, period, [5; 32]), &[&idle.key]);
    w.ok(ix::keeper_suspend(&idle.keeper()), &[]);
}

/// Finding R 6.
#[test]
fn many_reports_at_once_suspend_nobody() {
    let (mut w, voter, idle) = pair();
    let first = w.period();
    w.warp_past_period(first + IDLE_REPORTS - 1);
    for period in first..first + IDLE_REPORTS {
        w.ok(ix::report_vote(&voter, period, [5; 32]), &[&voter.key]);
    }
    let keeper: Keeper = w.read(&idle.keeper());
    w.set_now(keeper.voted_at + 24 * i64::from(w.params.period_secs));
    w.alter(&pda::market(), |m: &mut gantry_market::state::Market| m.final_reports += 1);
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
    w.warp(1);
    w.ok(ix::keeper_suspend(&idle.keeper()), &[]);
}

#[test]
fn without_final_reports_nobody_is_idle() {
    let (mut w, _, idle) = pair();
    w.warp(100 * i64::from(w.params.period_secs));
    w.refused(ix::keeper_suspend(&idle.keeper()), &[], MarketError::KeeperNotIdle);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, voter, idle) = pair();
    without(&mut w, &voter, IDLE_REPORTS + 1);
    let (market, keeper) = (w.forged(&pda::market()), w.forged(&idle.keeper()));
    let twin = w.twin(&idle.keeper_vault());
    let good = ix::keeper_suspend(&idle.keeper());
    let cases: [(_, _, Code); 5] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (idle.keeper(), keeper, InstructionError::IllegalOwner.into()),
        (idle.keeper(), pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        (idle.keeper_vault(), voter.keeper_vault(), InstructionError::InvalidSeeds.into()),
        (idle.keeper_vault(), twin, InstructionError::InvalidSeeds.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[], code);
    }
}
