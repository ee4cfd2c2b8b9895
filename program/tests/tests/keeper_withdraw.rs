use gantry_market::errors::MarketError;
use gantry_market::state::{Keeper, Rewards};
use gantry_market_tests::actors::{START_LAMPORTS, START_STAKE};
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_instruction_error::InstructionError;

const BOND: u64 = 2_000_000_000;

fn exiting() -> (Testbed, Actor) {
    let mut w = Testbed::new();
    let who = w.keeper(BOND);
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    (w, who)
}

fn exited() -> (Testbed, Actor) {
    let (mut w, who) = exiting();
    w.warp(i64::from(w.params.keeper_exit_secs));
    (w, who)
}

#[test]
fn everything_comes_back_and_the_place_is_free() {
    let (mut w, who) = exited();
    w.gift(&who.keeper_vault(), 5);
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
    assert!(!w.exists(&who.keeper()));
    assert!(!w.exists(&who.keeper_vault()));
    assert_eq!(w.tokens(&who.stake), START_STAKE + 5);
    assert_eq!(w.lamports(&who.wallet()), START_LAMPORTS);
    let market = w.market();
    assert_eq!((market.keeper_count, market.keeper_slots), (0, [0; 32]));
    let next = w.keeper(BOND);
    assert_eq!(w.read::<Keeper>(&next.keeper()).index, 0);
}

#[test]
fn not_before_the_exit_was_asked_for_and_its_time_has_come() {
    let mut w = Testbed::new();
    let who = w.keeper(BOND);
    w.refused(ix::keeper_withdraw(&who), &[&who.key], MarketError::WrongKeeperStatus);
    let pending = w.pending_keeper(BOND);
    let instruction = ix::keeper_withdraw(&pending);
    w.refused(instruction, &[&pending.key], MarketError::WrongKeeperStatus);
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    w.warp(i64::from(w.params.keeper_exit_secs) - 1);
    w.refused(ix::keeper_withdraw(&who), &[&who.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
}

#[test]
fn once_only() {
    let (mut w, who) = exited();
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
    w.refused(ix::keeper_withdraw(&who), &[&who.key], InstructionError::AccountDataTooSmall);
}

#[test]
fn not_before_its_rewards_are_claimed() {
    let (mut w, who) = exited();
    w.alter(&who.keeper(), |k: &mut Keeper| k.earned = 1);
    w.refused(ix::keeper_withdraw(&who), &[&who.key], MarketError::RewardsUnclaimed);
}

#[test]
fn a_paused_market_still_pays_out() {
    let (mut w, who) = exited();
    let guardian = w.guardian.insecure_clone();
    use solana_signer::Signer;
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, who) = exited();
    let other = w.keeper(BOND);
    let (market, keeper) = (w.forged(&pda::market()), w.forged(&who.keeper()));
    let twin = w.twin(&who.keeper_vault());
    let foreign = w.foreign_token_account(w.stake_mint, who.wallet(), 0);
    let good = ix::keeper_withdraw(&who);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let rewards = w.twin(&pda::rewards());
    let cases: [(_, _, Code); 11] = [
        (pda::rewards(), rewards, MarketError::WrongAccount.into()),
        (pda::fee_vault(), who.payment, MarketError::WrongAccount.into()),
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.keeper(), keeper, InstructionError::IllegalOwner.into()),
        (who.keeper_vault(), other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        (who.keeper_vault(), twin, InstructionError::InvalidSeeds.into()),
        (who.stake, who.payment, MarketError::WrongMint.into()),
        (who.stake, other.stake, MarketError::WrongTokenOwner.into()),
        (who.stake, foreign, InstructionError::IllegalOwner.into()),
        (who.stake, who.keeper_vault(), framework::DUPLICATE_MUTABLE),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}

/// Finding P 23.
#[test]
fn a_frozen_fee_vault_holds_no_bond() {
    let (mut w, who) = exited();
    w.alter(&who.keeper(), |k: &mut Keeper| k.earned = 7);
    w.alter(&pda::rewards(), |r: &mut Rewards| (r.earned, r.pending) = (7, 3));
    w.gift(&pda::fee_vault(), 10);
    w.freeze(&pda::fee_vault(), true);
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
    assert_eq!(w.tokens(&who.stake), START_STAKE);
    // What it earned and could not be paid is shared with the other fees.
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.earned, rewards.pending), (0, 10));
}
