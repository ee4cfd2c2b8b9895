use gantry_market::constants::{PAUSE_AWARDS, PAUSE_ORDERS};
use gantry_market::errors::MarketError;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn guardian_and_authority_pause_and_reopen() {
    let mut w = Testbed::new();
    let (authority, guardian) = (w.authority.insecure_clone(), w.guardian.insecure_clone());
    w.ok(ix::market_pause(&guardian.pubkey(), PAUSE_ORDERS | PAUSE_AWARDS), &[&guardian]);
    assert_eq!(w.market().paused, PAUSE_ORDERS | PAUSE_AWARDS);
    w.ok(ix::market_pause(&authority.pubkey(), 0), &[&authority]);
    assert_eq!(w.market().paused, 0);
}

#[test]
fn no_one_else_pauses() {
    let mut w = Testbed::new();
    let stranger = w.actor();
    let instruction = ix::market_pause(&stranger.wallet(), PAUSE_ORDERS);
    w.refused(instruction, &[&stranger.key], MarketError::Unauthorised);
    let guardian = w.guardian.pubkey();
    let silent = unsigned(ix::market_pause(&guardian, PAUSE_ORDERS), &guardian);
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn unknown_bits_are_refused() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    for bit in 2..8 {
        let instruction = ix::market_pause(&guardian.pubkey(), 1 << bit);
        w.refused(instruction, &[&guardian], MarketError::ParameterOutOfRange);
    }
}

#[test]
fn orders_stop_while_paused_and_go_on_after() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let customer = w.customer(100_000_000);
    w.ok(ix::market_pause(&guardian.pubkey(), PAUSE_ORDERS), &[&guardian]);
    let order = ix::order_create(&customer, ix::order_args(1));
    w.refused(order.clone(), &[&customer.key], MarketError::OrdersPaused);
    w.ok(ix::market_pause(&guardian.pubkey(), PAUSE_AWARDS), &[&guardian]);
    w.ok(order, &[&customer.key]);
}

#[test]
fn a_false_market_is_refused() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let forged = w.forged(&pda::market());
    let instruction = swap(ix::market_pause(&guardian.pubkey(), 1), &pda::market(), &forged);
    w.refused(instruction, &[&guardian], InstructionError::IllegalOwner);
}
