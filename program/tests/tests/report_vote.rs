use gantry_market::errors::MarketError;
use gantry_market::events::{ReportFinalised, ReportVoted};
use gantry_market::state::{Keeper, Report, KEEPER_PENDING, REPORT_FINAL, REPORT_LEN, REPORT_OPEN};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::{assert_emitted, emitted};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_account::Account;
use solana_instruction_error::InstructionError;

const ROOT: [u8; 32] = [1; 32];

/// Keepers of these bonds in units of the smallest, and a period that has just ended, in which all were active.
fn ready<const N: usize>(bonds: [u64; N]) -> (Testbed, [Actor; N], u64) {
    let mut w = Testbed::new();
    let min = w.params.min_bond;
    let keepers = bonds.map(|bond| w.keeper(bond * min));
    let period = w.period();
    w.warp_past_period(period);
    (w, keepers, period)
}

#[test]
fn more_than_two_thirds_of_the_weight_make_a_report_final() {
    let (mut w, [a, b, c], period) = ready([1, 1, 1]);
    let unit = w.params.min_bond;
    let meta = w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    let vote = |who: &Actor| ReportVoted { period, keeper: who.wallet(), root: ROOT, weight: unit };
    assert_emitted(&meta, &vote(&a));
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.period, report.total_weight, report.created_at), (period, 3 * unit, w.now()));
    assert_eq!((report.status, report.finalised_at, report.rent_payer), (REPORT_OPEN, 0, a.wallet()));
    assert_eq!((report.candidate_count, report.candidates[0].root), (1, ROOT));
    assert_eq!((report.candidates[0].weight, report.candidates[0].proposer), (unit, a.wallet()));
    assert_eq!(report.voters[0], 1);
    w.warp(3);
    w.ok(ix::report_vote(&b, period, ROOT), &[&b.key]);
    assert_eq!(w.read::<Report>(&pda::report(period)).status, REPORT_OPEN, "two thirds are not more");
    let meta = w.ok(ix::report_vote(&c, period, ROOT), &[&c.key]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.status, report.finalised_at), (REPORT_FINAL, w.now()));
    assert_eq!((report.root, report.proposer), (ROOT, a.wallet()));
    assert_eq!((report.candidates[0].weight, report.voters[0]), (3 * unit, 0b111));
    assert_emitted(&meta, &ReportFinalised { period, root: ROOT, weight: 3 * unit, total_weight: 3 * unit });
    let keeper: Keeper = w.read(&c.keeper());
    assert_eq!((keeper.votes, keeper.misses, keeper.last_vote_period), (1, 0, period));
}

#[test]
fn weight_decides_and_not_heads() {
    let (mut w, [heavy, light, _], period) = ready([7, 2, 1]);
    w.ok(ix::report_vote(&light, period, [2; 32]), &[&light.key]);
    w.ok(ix::report_vote(&heavy, period, ROOT), &[&heavy.key]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.status, report.root, report.proposer), (REPORT_FINAL, ROOT, heavy.wallet()));
    assert_eq!((report.candidate_count, report.voters[0]), (2, 0b11));
}

#[test]
fn a_vote_after_the_end_counts_and_changes_nothing() {
    let (mut w, [heavy, light], period) = ready([9, 1]);
    w.ok(ix::report_vote(&heavy, period, ROOT), &[&heavy.key]);
    let at = w.now();
    w.warp(5);
    let meta = w.ok(ix::report_vote(&light, period, ROOT), &[&light.key]);
    assert_eq!(emitted(&meta).len(), 1, "it became final before");
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.finalised_at, report.candidates[0].weight), (at, report.total_weight));
    assert_eq!(w.read::<Keeper>(&light.keeper()).votes, 1);
}

#[test]
fn one_vote_a_period() {
    let (mut w, [a, _b], period) = ready([1, 1]);
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    // The same again is a retry: no error and no weight.
    let meta = w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    assert!(emitted(&meta).is_empty());
    w.refused(ix::report_vote(&a, period, [2; 32]), &[&a.key], MarketError::VoteNotHeavier);
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.candidates[0].weight, report.candidate_count), (w.params.min_bond, 1));
    assert_eq!(w.read::<Keeper>(&a.keeper()).votes, 1);
}

#[test]
fn another_keepers_root_is_not_a_retry() {
    let (mut w, [a, b, c], period) = ready([1, 1, 1]);
    for (keeper, root) in [(&a, ROOT), (&b, [2; 32]), (&c, ROOT)] {
        w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
    }
    w.refused(ix::report_vote(&a, period, [2; 32]), &[&a.key], MarketError::VoteNotHeavier);
}

#[test]
fn not_before_the_end_of_the_period_nor_after_the_retention() {
    let (mut w, [a], period) = ready([1]);
    let end = w.now();
    w.warp(-1);
    w.refused(ix::report_vote(&a, period, ROOT), &[&a.key], MarketError::PeriodNotEnded);
    w.refused(ix::report_vote(&a, u64::MAX, ROOT), &[&a.key], MarketError::Overflow);
    let retention = i64::from(w.params.report_retention_secs);
    w.set_now(end + retention + 1);
    w.refused(ix::report_vote(&a, period, ROOT), &[&a.key], MarketError::TooLate);
    w.set_now(end + retention);
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
}

#[test]
fn only_keepers_that_were_active_in_the_period() {
    let (mut w, [a], period) = ready([1]);
    let pending = w.pending_keeper(w.params.min_bond);
    w.refused(ix::report_vote(&pending, period, ROOT), &[&pending.key], MarketError::KeeperNotActive);
    // Active from the very second in which the period ended: not in it.
    let end = w.now();
    w.alter(&pending.keeper(), |k: &mut Keeper| k.pending_since -= 1_000);
    w.ok(ix::keeper_activate(&pending), &[&pending.key]);
    assert_eq!(w.read::<Keeper>(&pending.keeper()).active_since, end);
    w.refused(ix::report_vote(&pending, period, ROOT), &[&pending.key], MarketError::KeeperNotActive);
    w.alter(&pending.keeper(), |k: &mut Keeper| k.active_since -= 1);
    w.ok(ix::report_vote(&pending, period, ROOT), &[&pending.key]);
    w.ok(ix::keeper_request_exit(&a), &[&a.key]);
    w.refused(ix::report_vote(&a, period, ROOT), &[&a.key], MarketError::KeeperNotActive);
}

#[test]
fn a_newcomer_in_a_leavers_place_does_not_vote_again_on_the_past() {
    let (mut w, [a, leaver], period) = ready([1, 1]);
    w.ok(ix::report_vote(&leaver, period, ROOT), &[&leaver.key]);
    w.ok(ix::keeper_request_exit(&leaver), &[&leaver.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&leaver), &[&leaver.key]);
    let newcomer = w.keeper(w.params.min_bond);
    assert_eq!(w.read::<Keeper>(&newcomer.keeper()).index, 1);
    w.refused(ix::report_vote(&newcomer, period, ROOT), &[&newcomer.key], MarketError::KeeperNotActive);
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    assert_eq!(w.read::<Report>(&pda::report(period)).status, REPORT_FINAL);
}

#[test]
fn missed_periods_are_counted() {
    let (mut w, [a], period) = ready([1]);
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    w.warp_past_period(period + 3);
    w.ok(ix::report_vote(&a, period + 3, ROOT), &[&a.key]);
    w.ok(ix::report_vote(&a, period + 2, ROOT), &[&a.key]);
    let keeper: Keeper = w.read(&a.keeper());
    assert_eq!((keeper.votes, keeper.misses, keeper.last_vote_period), (3, 2, period + 3));
}

#[test]
fn weight_beyond_the_total_is_refused() {
    let (mut w, [a, b], period) = ready([1, 1]);
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
    w.alter(&b.keeper(), |k: &mut Keeper| k.weight *= 2);
    w.refused(ix::report_vote(&b, period, ROOT), &[&b.key], MarketError::InvariantBroken);
}

#[test]
fn a_paused_market_still_reports_and_a_gift_of_lamports_stops_nobody() {
    let (mut w, [a], period) = ready([1]);
    w.pause();
    w.prefund(&pda::report(period));
    w.ok(ix::report_vote(&a, period, ROOT), &[&a.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, [a, b], period) = ready([1, 1]);
    w.alter(&b.keeper(), |k: &mut Keeper| k.status = KEEPER_PENDING);
    let good = ix::report_vote(&a, period, ROOT);
    let silent = unsigned(good.clone(), &a.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &a.wallet(), &b.wallet());
    w.refused(theft, &[&b.key], MarketError::Unauthorised);
    let (keeper, market) = (w.forged(&a.keeper()), w.forged(&pda::market()));
    let cases: [(_, _, _, Code); 4] = [
        ("keeper's program", a.keeper(), keeper, InstructionError::IllegalOwner.into()),
        ("market's program", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("report", pda::report(period), pda::report(period + 1), InstructionError::InvalidSeeds.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&a.key], &cases);
    // Also once the report is there.
    w.ok(good.clone(), &[&a.key]);
    let report = w.forged(&pda::report(period));
    let cases: [(_, _, _, Code); 1] =
        [("report's program", pda::report(period), report, InstructionError::InvalidSeeds.into())];
    w.refuses_swaps(&good, &[&a.key], &cases);
    // In its place an account of another program, of another type, or a part of one is no report.
    type Spoil = fn(&mut Account);
    let cases: [(_, Spoil, Code); 3] = [
        ("owner", |at| at.owner = token_program(), InstructionError::IllegalOwner.into()),
        ("type", |at| at.data[0] ^= 1, InstructionError::InvalidAccountData.into()),
        ("length", |at| at.data.truncate(REPORT_LEN - 1), InstructionError::AccountDataTooSmall.into()),
    ];
    let whole = w.svm.get_account(&pda::report(period)).expect("exists");
    for (what, spoil, code) in cases {
        let mut spoilt = whole.clone();
        spoil(&mut spoilt);
        w.svm.set_account(pda::report(period), spoilt).expect("account is written");
        println!("{what}");
        w.refused(good.clone(), &[&a.key], code);
    }
    w.svm.set_account(pda::report(period), whole).expect("account is written");
    w.ok(good, &[&a.key]);
}
