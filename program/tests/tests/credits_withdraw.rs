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
fn the_free_part_comes_out() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.ok(ix::credits_withdraw(&who, 30), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).balance, 70);
    assert_eq!(w.tokens(&who.credits_vault()), 70);
    assert_eq!(w.tokens(&who.payment), START_PAYMENT - 70);
    w.ok(ix::credits_withdraw(&who, 70), &[&who.key]);
    assert_eq!(w.tokens(&who.payment), START_PAYMENT);
}

#[test]
fn what_is_reserved_stays() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.alter(&who.credits(), |c: &mut Credits| c.reserved = 60);
    w.refused(ix::credits_withdraw(&who, 41), &[&who.key], MarketError::InsufficientFunds);
    w.ok(ix::credits_withdraw(&who, 40), &[&who.key]);
    w.refused(ix::credits_withdraw(&who, 1), &[&who.key], MarketError::InsufficientFunds);
}

#[test]
fn an_open_order_holds_its_money() {
    let mut w = Testbed::new();
    let who = w.customer(3_000_001);
    w.ok(ix::order_create(&who, ix::order_args(1)), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 3_000_000);
    w.refused(ix::credits_withdraw(&who, 2), &[&who.key], MarketError::InsufficientFunds);
    w.ok(ix::credits_withdraw(&who, 1), &[&who.key]);
}

#[test]
fn amounts_must_be_there() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    w.gift(&who.credits_vault(), 1_000);
    w.refused(ix::credits_withdraw(&who, 0), &[&who.key], MarketError::ZeroAmount);
    for amount in [101, u64::MAX] {
        let instruction = ix::credits_withdraw(&who, amount);
        w.refused(instruction, &[&who.key], MarketError::InsufficientFunds);
    }
}

#[test]
fn a_paused_market_still_pays_out() {
    let mut w = Testbed::new();
    let (who, guardian) = (w.customer(5), w.guardian.insecure_clone());
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.ok(ix::credits_withdraw(&who, 5), &[&who.key]);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.customer(100), w.customer(100));
    let (market, credits) = (w.forged(&pda::market()), w.forged(&who.credits()));
    let twin = w.twin(&who.credits_vault());
    let foreign = w.foreign_token_account(w.payment_mint, who.wallet(), 0);
    let good = ix::credits_withdraw(&who, 10);
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
    assert_eq!(w.tokens(&who.credits_vault()), 100);
}
