use gantry_market::errors::MarketError;
use gantry_market::state::Credits;
use gantry_market_tests::actors::START_PAYMENT;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn the_first_deposit_opens_the_account_and_the_next_adds() {
    let mut w = Testbed::new();
    let who = w.actor();
    w.ok(ix::credits_deposit(&w, &who, 40), &[&who.key]);
    let first: Credits = w.read(&who.credits());
    assert_eq!(first.customer, who.wallet());
    assert_eq!((first.balance, first.reserved, first.version), (40, 0, 1));
    let lamports = w.lamports(&who.wallet());
    w.ok(ix::credits_deposit(&w, &who, 2), &[&who.key]);
    let second: Credits = w.read(&who.credits());
    assert_eq!(second.balance, 42);
    assert_eq!((second.bump, second.vault_bump), (first.bump, first.vault_bump));
    assert_eq!(w.lamports(&who.wallet()), lamports, "rent is paid once");
    assert_eq!(w.tokens(&who.credits_vault()), 42);
    assert_eq!(w.tokens(&who.payment), START_PAYMENT - 42);
}

#[test]
fn what_is_reserved_stays_so() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.alter(&who.credits(), |c: &mut Credits| c.reserved = 100);
    w.ok(ix::credits_deposit(&w, &who, 1), &[&who.key]);
    let credits: Credits = w.read(&who.credits());
    assert_eq!((credits.balance, credits.reserved), (101, 100));
}

#[test]
fn a_gift_to_the_vault_is_not_credit() {
    let mut w = Testbed::new();
    let who = w.customer(10);
    w.gift(&who.credits_vault(), 1_000);
    w.ok(ix::credits_deposit(&w, &who, 1), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).balance, 11);
}

#[test]
fn a_paused_market_still_takes_money() {
    let mut w = Testbed::new();
    let (who, guardian) = (w.actor(), w.guardian.insecure_clone());
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.ok(ix::credits_deposit(&w, &who, 1), &[&who.key]);
}

#[test]
fn amounts_must_be_there() {
    let mut w = Testbed::new();
    let who = w.actor();
    w.refused(ix::credits_deposit(&w, &who, 0), &[&who.key], MarketError::ZeroAmount);
    assert!(!w.exists(&who.credits()), "a refused first deposit opens nothing");
    for amount in [START_PAYMENT + 1, u64::MAX] {
        let instruction = ix::credits_deposit(&w, &who, amount);
        w.refused(instruction, &[&who.key], MarketError::InsufficientFunds);
    }
}

#[test]
fn a_balance_does_not_wrap() {
    let mut w = Testbed::new();
    let who = w.customer(10);
    w.alter(&who.credits(), |c: &mut Credits| c.balance = u64::MAX);
    w.refused(ix::credits_deposit(&w, &who, 1), &[&who.key], MarketError::Overflow);
}

#[test]
fn books_that_do_not_match_the_vault_take_nothing() {
    let mut w = Testbed::new();
    let who = w.customer(10);
    w.alter(&who.credits(), |c: &mut Credits| c.balance = 11);
    w.refused(ix::credits_deposit(&w, &who, 1), &[&who.key], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused_at_the_first_deposit_and_later() {
    let mut w = Testbed::new();
    let other = w.customer(5);
    for opened in [false, true] {
        let who = if opened { w.customer(5) } else { w.actor() };
        let market = w.forged(&pda::market());
        let foreign = w.foreign_token_account(w.payment_mint, who.wallet(), 100);
        let elsewhere = w.fresh_address();
        let good = ix::credits_deposit(&w, &who, 10);
        let silent = unsigned(good.clone(), &who.wallet());
        w.refused(silent, &[], InstructionError::MissingRequiredSignature);
        let cases: [(_, _, Code); 11] = [
            (pda::market(), market, InstructionError::IllegalOwner.into()),
            (w.payment_mint, w.stake_mint, MarketError::WrongMint.into()),
            (who.credits(), other.credits(), InstructionError::InvalidSeeds.into()),
            (who.credits(), elsewhere, InstructionError::InvalidSeeds.into()),
            (who.credits_vault(), other.credits_vault(), InstructionError::InvalidSeeds.into()),
            (who.credits_vault(), elsewhere, InstructionError::InvalidSeeds.into()),
            (who.payment, who.stake, MarketError::WrongMint.into()),
            (who.payment, other.payment, MarketError::WrongTokenOwner.into()),
            (who.payment, foreign, InstructionError::IllegalOwner.into()),
            (who.payment, who.credits_vault(), framework::DUPLICATE_MUTABLE),
            (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
        ];
        for (from, to, code) in cases {
            println!("opened {opened}: {code:?}");
            w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
        }
    }
}
