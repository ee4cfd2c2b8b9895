use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_instruction_error::InstructionError;

/// 40 of 100 asked back.
fn cooling() -> (Testbed, Actor) {
    let mut w = Testbed::new();
    let who = w.provider(100);
    w.ok(ix::provider_request_unstake(&who, 40), &[&who.key]);
    (w, who)
}

fn cooled() -> (Testbed, Actor) {
    let (mut w, who) = cooling();
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    (w, who)
}

#[test]
fn stake_comes_back_after_the_cooldown() {
    let (mut w, who) = cooled();
    w.ok(ix::provider_withdraw_stake(&who), &[&who.key]);
    let provider: Provider = w.read(&who.provider());
    assert_eq!((provider.stake, provider.unstaking, provider.unstake_at), (60, 0, 0));
    assert_eq!(w.tokens(&who.provider_vault()), 60);
    assert_eq!(w.tokens(&who.stake), START_STAKE - 60);
}

#[test]
fn not_a_second_earlier() {
    let (mut w, who) = cooling();
    w.warp(i64::from(w.params.unstake_cooldown_secs) - 1);
    w.refused(ix::provider_withdraw_stake(&who), &[&who.key], MarketError::TooEarly);
}

#[test]
fn once_only() {
    let (mut w, who) = cooled();
    w.ok(ix::provider_withdraw_stake(&who), &[&who.key]);
    w.refused(ix::provider_withdraw_stake(&who), &[&who.key], MarketError::ZeroAmount);
    assert_eq!(w.tokens(&who.provider_vault()), 60);
}

/// A fault holds the stake of its node, and nothing else.
/// Finding R 4.
#[test]
fn a_pending_fault_does_not_hold_it() {
    let (mut w, who) = cooled();
    w.alter(&who.provider(), |p: &mut Provider| p.pending_faults = 1);
    w.ok(ix::provider_withdraw_stake(&who), &[&who.key]);
}

#[test]
fn a_paused_market_still_pays_out() {
    let (mut w, who) = cooled();
    let guardian = w.guardian.insecure_clone();
    use solana_signer::Signer;
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.ok(ix::provider_withdraw_stake(&who), &[&who.key]);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, who) = cooled();
    // More on the books than in the vault can only mean a defect elsewhere: then nothing moves.
    w.alter(&who.provider(), |p: &mut Provider| p.stake = 61);
    let instruction = ix::provider_withdraw_stake(&who);
    w.refused(instruction, &[&who.key], MarketError::InvariantBroken);
    assert_eq!(w.tokens(&who.provider_vault()), 100);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, who) = cooled();
    let other = w.provider(500);
    let (market, provider) = (w.forged(&pda::market()), w.forged(&who.provider()));
    let twin = w.twin(&who.provider_vault());
    let foreign = w.foreign_token_account(w.stake_mint, who.wallet(), 0);
    let good = ix::provider_withdraw_stake(&who);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let cases: [(_, _, Code); 9] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.provider(), provider, InstructionError::IllegalOwner.into()),
        (who.provider_vault(), other.provider_vault(), InstructionError::InvalidSeeds.into()),
        (who.provider_vault(), twin, InstructionError::InvalidSeeds.into()),
        (who.stake, who.payment, MarketError::WrongMint.into()),
        (who.stake, other.stake, MarketError::WrongTokenOwner.into()),
        (who.stake, foreign, InstructionError::IllegalOwner.into()),
        (who.stake, who.provider_vault(), framework::DUPLICATE_MUTABLE),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
