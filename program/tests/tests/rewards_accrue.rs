use gantry_market::constants::DAY;
use gantry_market::errors::MarketError;
use gantry_market::events::RewardsAccrued;
use gantry_market::state::{Report, Rewards};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_account::Account;
use solana_address::Address;
use solana_instruction_error::InstructionError;

fn rewards(w: &Testbed) -> Rewards {
    w.read(&pda::rewards())
}

#[test]
fn swept_fees_are_split_between_treasury_buy_back_and_the_voters_of_a_report() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let before = rewards(&w);
    assert_eq!((before.pending, before.earned), (36_000, 3_999));
    let period = w.ripe(&[&deal.keeper]);
    let meta = w.ok(ix::rewards_accrue(&w, period), &[]);
    assert_emitted(&meta, &RewardsAccrued { period, pool: 12_000, treasury: 16_000, buy_back: 8_000 });
    let after = rewards(&w);
    assert_eq!((after.pending, after.earned, after.allocated, after.buy_back), (0, 3_999, 12_000, 8_000));
    assert_eq!((after.buy_back_since, after.last_period), (w.now(), period));
    assert_eq!(w.tokens(&w.treasury), 16_000);
    assert_eq!(w.tokens(&pda::fee_vault()), 3_999 + 12_000 + 8_000);
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.reward, report.reward_left, report.reward_weight), (12_000, 12_000, 1_000_000_000));
    assert_eq!(report.reward_voters, report.candidates[0].voters);
}

#[test]
fn a_running_buy_back_goes_on_at_its_price() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let first = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, first), &[]);
    let since = w.now();
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = 90);
    w.gift(&pda::fee_vault(), 90);
    let second = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, second), &[]);
    // 120 seconds old, and 20 of 8,020 new: 119 in the mean.
    assert_eq!(
        (rewards(&w).buy_back, rewards(&w).buy_back_since),
        (8_020, w.now() - (w.now() - since) * 8_000 / 8_020)
    );
}

#[test]
fn only_a_final_report_whose_voters_had_their_time() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let idle = w.keeper(w.params.min_bond);
    // Half of the weight: not final.
    let open = w.ripe(&[&deal.keeper]);
    w.refused(ix::rewards_accrue(&w, open), &[], MarketError::ReportNotFinal);
    let period = w.voted(&[&deal.keeper, &idle]);
    w.warp_past_period(period);
    w.warp(59);
    w.refused(ix::rewards_accrue(&w, period), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
}

#[test]
fn once_and_never_for_an_older_report() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let older = w.voted(&[&deal.keeper]);
    let newer = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, newer), &[]);
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = 90);
    w.gift(&pda::fee_vault(), 90);
    for period in [newer, older] {
        w.refused(ix::rewards_accrue(&w, period), &[], MarketError::AlreadyApplied);
    }
}

#[test]
fn nothing_swept_is_nothing_to_split() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let period = w.ripe(&[&keeper]);
    w.refused(ix::rewards_accrue(&w, period), &[], MarketError::NothingOwed);
}

#[test]
fn a_vault_that_is_short_splits_nothing() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let period = w.ripe(&[&deal.keeper]);
    w.alter(&pda::rewards(), |r: &mut Rewards| r.earned += 1);
    w.refused(ix::rewards_accrue(&w, period), &[], MarketError::InvariantBroken);
}

#[test]
fn a_paused_market_still_splits() {
    let mut w = Testbed::new();
    let deal = w.swept();
    w.pause();
    let period = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, period), &[]);
}

/// Whoever has the treasury can close it, and the issuer of its mint freeze it.
#[test]
fn a_treasury_that_cannot_be_paid_holds_nothing_up() {
    for closed in [true, false] {
        let mut w = Testbed::new();
        let deal = w.swept();
        let treasury = w.treasury;
        let mut account = w.svm.get_account(&treasury).expect("exists");
        if closed {
            account = Account::default();
        } else {
            account.data[108] = 2;
        }
        w.svm.set_account(treasury, account).expect("account is written");
        let period = w.ripe(&[&deal.keeper]);
        let meta = w.ok(ix::rewards_accrue(&w, period), &[]);
        assert_emitted(&meta, &RewardsAccrued { period, pool: 12_000, treasury: 0, buy_back: 24_000 });
        assert_eq!(w.tokens(&pda::fee_vault()), 3_999 + 36_000);
    }
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let period = w.ripe(&[&deal.keeper]);
    let good = ix::rewards_accrue(&w, period);
    let treasury = w.treasury;
    for at in [pda::market(), pda::rewards(), pda::report(period)] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let (twin, vault) = (w.twin(&pda::rewards()), w.twin(&pda::fee_vault()));
    let stranger: Actor = w.actor();
    let cases: [(&str, Address, Address, Code); 4] = [
        ("rewards", pda::rewards(), twin, MarketError::WrongAccount.into()),
        ("fee vault", pda::fee_vault(), vault, MarketError::WrongAccount.into()),
        ("treasury", treasury, stranger.payment, MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}

/// Finding P 6.
#[test]
fn what_comes_new_to_a_buy_back_makes_it_younger() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let first = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, first), &[]);
    // 8,000 wait for ten days; as much again comes.
    w.warp(10 * DAY as i64);
    w.alter(&pda::rewards(), |r: &mut Rewards| r.pending = 36_000);
    w.gift(&pda::fee_vault(), 36_000);
    let second = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, second), &[]);
    assert_eq!((rewards(&w).buy_back, w.now() - rewards(&w).buy_back_since), (16_000, DAY as i64 / 2));
}
