use gantry_market::errors::MarketError;
use gantry_market::events::ReportClosed;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_instruction_error::InstructionError;

/// A report with one vote; final when the voter holds all the weight.
fn voted(last: bool) -> (Testbed, Actor, u64) {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    if !last {
        w.keeper(w.params.min_bond);
    }
    let period = w.period();
    w.warp_past_period(period);
    w.ok(ix::report_vote(&keeper, period, [1; 32]), &[&keeper.key]);
    (w, keeper, period)
}

#[test]
fn rent_goes_back_after_the_retention() {
    let (mut w, keeper, period) = voted(true);
    let (rent, before) = (w.lamports(&pda::report(period)), w.lamports(&keeper.wallet()));
    let retention = i64::from(w.params.report_retention_secs);
    w.warp(retention);
    w.refused(ix::report_close(period, &keeper.wallet()), &[], MarketError::TooEarly);
    w.warp(1);
    let meta = w.ok(ix::report_close(period, &keeper.wallet()), &[]);
    assert_emitted(&meta, &ReportClosed { period });
    assert!(!w.exists(&pda::report(period)));
    assert_eq!(w.lamports(&keeper.wallet()), before + rent);
    let again = ix::report_close(period, &keeper.wallet());
    w.refused(again, &[], InstructionError::AccountDataTooSmall);
    // Nobody votes it back to life.
    w.refused(ix::report_vote(&keeper, period, [2; 32]), &[&keeper.key], MarketError::TooLate);
}

#[test]
fn a_report_that_was_final_late_stays_as_long_as_any() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let period = w.period();
    w.warp_past_period(period);
    let end = w.now();
    w.warp(1_000);
    w.ok(ix::report_vote(&keeper, period, [1; 32]), &[&keeper.key]);
    let retention = i64::from(w.params.report_retention_secs);
    w.set_now(end + retention + 1);
    w.refused(ix::report_close(period, &keeper.wallet()), &[], MarketError::TooEarly);
    w.warp(1_000);
    w.ok(ix::report_close(period, &keeper.wallet()), &[]);
}

#[test]
fn a_report_that_never_became_final_closes_too() {
    let (mut w, keeper, period) = voted(false);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &keeper.wallet()), &[]);
}

#[test]
fn a_paused_market_still_closes() {
    let (mut w, keeper, period) = voted(true);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.pause();
    w.ok(ix::report_close(period, &keeper.wallet()), &[]);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, keeper, period) = voted(true);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    let stranger = w.actor();
    let good = ix::report_close(period, &keeper.wallet());
    let (market, report) = (w.forged(&pda::market()), w.forged(&pda::report(period)));
    let cases = [
        ("market's program", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("report's program", pda::report(period), report, InstructionError::IllegalOwner.into()),
        ("rent payer", keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
