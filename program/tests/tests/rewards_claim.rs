use gantry_market::errors::MarketError;
use gantry_market::events::RewardsClaimed;
use gantry_market::state::{Keeper, Report, Rewards};
use gantry_market_tests::actors::START_PAYMENT;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A swept fee and an accrued report that the deal's keeper and `others` voted for.
fn accrued(w: &mut Testbed, others: &[u64]) -> (Deal, Vec<Actor>, u64) {
    let others: Vec<Actor> = others.iter().map(|bond| w.keeper(*bond)).collect();
    let deal = w.swept();
    let voters: Vec<&Actor> = others.iter().chain([&deal.keeper]).collect();
    let period = w.ripe(&voters);
    w.ok(ix::rewards_accrue(w, period), &[]);
    (deal, others, period)
}

fn gained(w: &Testbed, who: &Actor) -> u64 {
    w.tokens(&who.payment) - START_PAYMENT
}

#[test]
fn an_award_and_a_vote_are_paid_once() {
    let mut w = Testbed::new();
    let (deal, _, period) = accrued(&mut w, &[]);
    let meta = w.ok(ix::rewards_claim(&deal.keeper, Some(period)), &[]);
    let keeper = deal.keeper.wallet();
    assert_emitted(&meta, &RewardsClaimed { keeper, by_awards: 3_999, by_vote: 12_000 });
    assert_eq!(gained(&w, &deal.keeper), 15_999);
    assert_eq!(w.read::<Keeper>(&deal.keeper.keeper()).earned, 0);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.earned, rewards.allocated), (0, 0));
    assert_eq!(w.read::<Report>(&pda::report(period)).reward_left, 0);
    for report in [Some(period), None] {
        w.refused(ix::rewards_claim(&deal.keeper, report), &[], MarketError::NothingOwed);
    }
}

#[test]
fn voters_share_by_weight_and_in_any_order() {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let (deal, others, period) = accrued(&mut w, &[2 * unit, 3 * unit]);
    for who in others.iter().rev().chain([&deal.keeper]) {
        w.ok(ix::rewards_claim(who, Some(period)), &[]);
    }
    assert_eq!(others.iter().map(|who| gained(&w, who)).collect::<Vec<_>>(), [4_000, 6_000]);
    assert_eq!(gained(&w, &deal.keeper), 3_999 + 2_000);
}

#[test]
fn awards_alone_need_no_report() {
    let mut w = Testbed::new();
    let (deal, _, _) = accrued(&mut w, &[]);
    w.ok(ix::rewards_claim(&deal.keeper, None), &[]);
    assert_eq!(gained(&w, &deal.keeper), 3_999);
}

#[test]
fn who_did_not_vote_or_voted_otherwise_gets_nothing() {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let (silent, dishonest) = (w.keeper(unit), w.keeper(unit));
    let (others, deal) = ([w.keeper(8 * unit)], w.swept());
    let period = w.voted(&[&others[0], &deal.keeper]);
    w.ok(ix::report_vote(&dishonest, period, [6; 32]), &[&dishonest.key]);
    w.warp_past_period(period + 1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    for who in [&silent, &dishonest] {
        w.refused(ix::rewards_claim(who, Some(period)), &[], MarketError::NothingOwed);
    }
}

#[test]
fn a_vote_after_the_accrual_shares_nothing() {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let (late, big) = (w.keeper(unit), w.keeper(8 * unit));
    let deal = w.swept();
    let period = w.ripe(&[&big, &deal.keeper]);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    w.ok(ix::report_vote(&late, period, [5; 32]), &[&late.key]);
    w.refused(ix::rewards_claim(&late, Some(period)), &[], MarketError::NothingOwed);
}

#[test]
fn a_keeper_in_a_former_keepers_place_is_not_that_keeper() {
    let mut w = Testbed::new();
    let (deal, others, period) = accrued(&mut w, &[1_000_000_000]);
    let place = w.read::<Keeper>(&others[0].keeper()).index;
    let heir = w.keeper(w.params.min_bond);
    w.alter(&heir.keeper(), |k: &mut Keeper| k.index = place);
    assert!(
        w.read::<Keeper>(&heir.keeper()).active_since > w.read::<Report>(&pda::report(period)).created_at
    );
    w.refused(ix::rewards_claim(&heir, Some(period)), &[], MarketError::NothingOwed);
    // Nor one that took the place in the second of the report.
    let made = w.read::<Report>(&pda::report(period)).created_at;
    w.alter(&heir.keeper(), |k: &mut Keeper| k.active_since = made);
    w.refused(ix::rewards_claim(&heir, Some(period)), &[], MarketError::NothingOwed);
    w.ok(ix::rewards_claim(&deal.keeper, Some(period)), &[]);
}

#[test]
fn what_is_not_claimed_when_the_report_closes_is_shared_again() {
    let mut w = Testbed::new();
    let (deal, _, period) = accrued(&mut w, &[1_000_000_000]);
    w.ok(ix::rewards_claim(&deal.keeper, Some(period)), &[]);
    w.warp(10_000);
    let payer = w.read::<Report>(&pda::report(period)).rent_payer;
    w.ok(ix::report_close(period, &payer), &[]);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.pending, rewards.allocated), (6_000, 0));
}

#[test]
fn a_keeper_leaves_with_its_rewards_claimed() {
    let mut w = Testbed::new();
    let (deal, _, _) = accrued(&mut w, &[]);
    w.ok(ix::keeper_request_exit(&deal.keeper), &[&deal.keeper.key]);
    w.warp(10_000);
    let leave = ix::keeper_withdraw(&deal.keeper);
    w.refused(leave.clone(), &[&deal.keeper.key], MarketError::RewardsUnclaimed);
    w.ok(ix::rewards_claim(&deal.keeper, None), &[]);
    w.ok(leave, &[&deal.keeper.key]);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let mut w = Testbed::new();
    let (deal, _, _) = accrued(&mut w, &[]);
    w.alter(&pda::rewards(), |r: &mut Rewards| r.buy_back += 1);
    w.refused(ix::rewards_claim(&deal.keeper, None), &[], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (deal, _, period) = accrued(&mut w, &[]);
    let stranger = w.actor();
    let good = ix::rewards_claim(&deal.keeper, Some(period));
    for at in [pda::market(), pda::rewards(), deal.keeper.keeper(), pda::report(period)] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let (twin, vault) = (w.twin(&pda::rewards()), w.twin(&pda::fee_vault()));
    let foreign = w.foreign_token_account(w.payment_mint, deal.keeper.wallet(), 0);
    let cases: [(&str, Address, Address, Code); 6] = [
        ("rewards", pda::rewards(), twin, MarketError::WrongAccount.into()),
        ("fee vault", pda::fee_vault(), vault, MarketError::WrongAccount.into()),
        ("receiver", deal.keeper.payment, stranger.payment, MarketError::WrongTokenOwner.into()),
        ("mint", deal.keeper.payment, deal.keeper.stake, MarketError::WrongMint.into()),
        ("receiver's program", deal.keeper.payment, foreign, InstructionError::IllegalOwner.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}

#[test]
fn only_votes_until_the_grace_after_finality_earn() {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let (prompt, late) = (w.keeper(unit), w.keeper(unit));
    let deal = w.swept();
    w.alter(&deal.keeper.keeper(), |k: &mut Keeper| k.active_since = 0);
    // The deal's keeper has a third: it takes two to be final, and one more makes sure.
    let whale = w.keeper(10 * unit);
    let period = w.voted(&[&deal.keeper, &whale]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!(report.finalised_at, w.now());
    w.warp(5);
    w.ok(ix::report_vote(&prompt, period, [5; 32]), &[&prompt.key]);
    w.warp(1);
    w.ok(ix::report_vote(&late, period, [5; 32]), &[&late.key]);
    w.warp_past_period(period + 1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!(report.reward_weight, 12 * unit);
    w.ok(ix::rewards_claim(&prompt, Some(period)), &[]);
    w.refused(ix::rewards_claim(&late, Some(period)), &[], MarketError::NothingOwed);
    assert_eq!(gained(&w, &prompt), report.reward / 12);
}

/// Finding R 6.
#[test]
fn a_report_without_a_reward_yet_forgets_no_voter() {
    let mut w = Testbed::new();
    let (deal, period) = (w.swept(), w.period());
    assert_eq!(w.voted(&[&deal.keeper]), period);
    // A claim of the award, with the report named too early, must not use up the share of its vote.
    w.ok(ix::rewards_claim(&deal.keeper, Some(period)), &[]);
    w.warp_past_period(period + 1);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    w.ok(ix::rewards_claim(&deal.keeper, Some(period)), &[]);
    assert_eq!(gained(&w, &deal.keeper), 15_999);
}
