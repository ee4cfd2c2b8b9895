use gantry_market::errors::MarketError;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn the_successor_waits_and_the_guardian_stays() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let next = w.fresh_address();
    w.ok(ix::market_set_authority(&w, next), &[&authority]);
    let market = w.market();
    assert_eq!(market.authority, authority.pubkey());
    assert_eq!(market.pending_authority, next);
    assert_eq!(market.guardian, w.guardian.pubkey());
}

#[test]
fn zero_takes_a_nomination_back() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let next = w.fresh_key();
    w.ok(ix::market_set_authority(&w, next.pubkey()), &[&authority]);
    w.ok(ix::market_set_authority(&w, Default::default()), &[&authority]);
    let instruction = ix::market_accept_authority(&next.pubkey());
    w.refused(instruction, &[&next], MarketError::NothingPending);
}

#[test]
fn only_the_authority_nominates() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let good = ix::market_set_authority(&w, guardian.pubkey());
    let coup = swap(good.clone(), &w.authority.pubkey(), &guardian.pubkey());
    w.refused(coup, &[&guardian], MarketError::Unauthorised);
    let silent = unsigned(good.clone(), &w.authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let authority = w.authority.insecure_clone();
    let forged = w.forged(&pda::market());
    let elsewhere = swap(good, &pda::market(), &forged);
    w.refused(elsewhere, &[&authority], InstructionError::IllegalOwner);
}
