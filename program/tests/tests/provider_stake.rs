use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn stake_adds_up() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    for (amount, total) in [(7, 7), (1_000_000_000, 1_000_000_007)] {
        w.ok(ix::provider_stake(&w, &who, amount), &[&who.key]);
        assert_eq!(w.read::<Provider>(&who.provider()).stake, total);
        assert_eq!(w.tokens(&who.provider_vault()), total);
        assert_eq!(w.tokens(&who.stake), START_STAKE - total);
    }
}

#[test]
fn all_that_there_is_may_be_staked() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    w.ok(ix::provider_stake(&w, &who, START_STAKE), &[&who.key]);
    assert_eq!((w.tokens(&who.stake), w.tokens(&who.provider_vault())), (0, START_STAKE));
}

#[test]
fn amounts_must_be_there() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    w.refused(ix::provider_stake(&w, &who, 0), &[&who.key], MarketError::ZeroAmount);
    let much = ix::provider_stake(&w, &who, START_STAKE + 1);
    w.refused(much, &[&who.key], MarketError::InsufficientFunds);
    let most = ix::provider_stake(&w, &who, u64::MAX);
    w.refused(most, &[&who.key], MarketError::InsufficientFunds);
}

#[test]
fn only_the_wallet_may() {
    let mut w = Testbed::new();
    let (who, other) = (w.provider(0), w.provider(0));
    let good = ix::provider_stake(&w, &who, 10);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let by_other = swap(good, &who.wallet(), &other.wallet());
    w.refused(by_other, &[&other.key], MarketError::Unauthorised);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.provider(0), w.provider(0));
    let (market, provider) = (w.forged(&pda::market()), w.forged(&who.provider()));
    let vault_twin = w.twin(&who.provider_vault());
    let foreign = w.foreign_token_account(w.stake_mint, who.wallet(), 100);
    let good = ix::provider_stake(&w, &who, 10);
    let cases: [(_, _, Code); 9] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.provider(), provider, InstructionError::IllegalOwner.into()),
        (who.provider_vault(), other.provider_vault(), InstructionError::InvalidSeeds.into()),
        (who.provider_vault(), vault_twin, InstructionError::InvalidSeeds.into()),
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
