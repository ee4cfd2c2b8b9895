use gantry_market::errors::MarketError;
use gantry_market::state::Credits;
use gantry_market_tests::actors::{START_LAMPORTS, START_PAYMENT};
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Change, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn everything_comes_back() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.gift(&who.credits_vault(), 7);
    w.ok(ix::credits_close(&who), &[&who.key]);
    assert!(!w.exists(&who.credits()));
    assert!(!w.exists(&who.credits_vault()));
    assert_eq!(w.tokens(&who.payment), START_PAYMENT + 7);
    assert_eq!(w.lamports(&who.wallet()), START_LAMPORTS);
}

#[test]
fn an_empty_account_closes_and_opens_again() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.ok(ix::credits_withdraw(&who, 100), &[&who.key]);
    w.ok(ix::credits_close(&who), &[&who.key]);
    w.refused(ix::credits_close(&who), &[&who.key], InstructionError::AccountDataTooSmall);
    w.ok(ix::credits_deposit(&w, &who, 3), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).balance, 3);
}

#[test]
fn whoever_still_has_something_here_stays() {
    let cases: [(&str, Change<Credits>); 3] = [
        ("reserved money", |c| c.reserved = 1),
        ("orders", |c| c.live_orders = 1),
        ("leases", |c| c.live_leases = 1),
    ];
    for (name, change) in cases {
        println!("{name}");
        let mut w = Testbed::new();
        let who = w.customer(100);
        w.alter(&who.credits(), change);
        w.refused(ix::credits_close(&who), &[&who.key], MarketError::StillInUse);
    }
}

#[test]
fn books_that_do_not_match_the_vault_close_nothing() {
    let mut w = Testbed::new();
    let who = w.customer(10);
    w.alter(&who.credits(), |c: &mut Credits| c.balance = 11);
    w.refused(ix::credits_close(&who), &[&who.key], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.customer(100), w.customer(100));
    let (market, credits) = (w.forged(&pda::market()), w.forged(&who.credits()));
    let twin = w.twin(&who.credits_vault());
    let foreign = w.foreign_token_account(w.payment_mint, who.wallet(), 0);
    let good = ix::credits_close(&who);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let cases: [(_, _, Code); 9] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.credits(), credits, InstructionError::IllegalOwner.into()),
        (who.credits_vault(), other.credits_vault(), InstructionError::InvalidSeeds.into()),
        (who.credits_vault(), twin, InstructionError::InvalidSeeds.into()),
        (who.payment, who.stake, MarketError::WrongMint.into()),
        (who.payment, other.payment, MarketError::WrongTokenOwner.into()),
        (who.payment, foreign, InstructionError::IllegalOwner.into()),
        (who.payment, who.credits_vault(), framework::DUPLICATE_MUTABLE),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
