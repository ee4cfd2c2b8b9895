use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::errors::Code;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn names_another_account() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    let payout = w.token_account(w.payment_mint, who.wallet(), 0);
    w.ok(ix::provider_set_payout(&who, payout), &[&who.key]);
    assert_eq!(w.read::<Provider>(&who.provider()).payout, payout);
    // Saying it again changes nothing.
    w.ok(ix::provider_set_payout(&who, payout), &[&who.key]);
    assert_eq!(w.read::<Provider>(&who.provider()).payout, payout);
}

#[test]
fn it_must_be_the_wallets_own_payment_account() {
    let mut w = Testbed::new();
    let (who, other) = (w.provider(0), w.actor());
    let foreign = w.foreign_token_account(w.payment_mint, who.wallet(), 0);
    let cases: [(_, Code); 3] = [
        (who.stake, MarketError::WrongMint.into()),
        (other.payment, MarketError::WrongTokenOwner.into()),
        (foreign, InstructionError::IllegalOwner.into()),
    ];
    for (wrong, code) in cases {
        w.refused(ix::provider_set_payout(&who, wrong), &[&who.key], code);
    }
}

#[test]
fn only_the_wallet_may() {
    let mut w = Testbed::new();
    let (who, thief) = (w.provider(0), w.provider(0));
    let theft = swap(ix::provider_set_payout(&thief, thief.payment), &thief.provider(), &who.provider());
    w.refused(theft, &[&thief.key], MarketError::Unauthorised);
    let silent = unsigned(ix::provider_set_payout(&who, who.payment), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let forged = w.forged(&who.provider());
    let elsewhere = swap(ix::provider_set_payout(&who, who.payment), &who.provider(), &forged);
    w.refused(elsewhere, &[&who.key], InstructionError::IllegalOwner);
}
