use gantry_market::errors::MarketError;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn the_nominee_takes_over_and_the_old_authority_is_out() {
    let mut w = Testbed::new();
    let (old, next) = (w.authority.insecure_clone(), w.fresh_key());
    w.ok(ix::market_set_authority(&w, next.pubkey()), &[&old]);
    w.ok(ix::market_accept_authority(&next.pubkey()), &[&next]);
    let market = w.market();
    assert_eq!(market.authority, next.pubkey());
    assert_eq!(market.pending_authority, Default::default());
    let late = ix::market_propose_params(&w, w.params);
    w.refused(late, &[&old], MarketError::Unauthorised);
}

#[test]
fn only_the_nominee_accepts_and_only_once() {
    let mut w = Testbed::new();
    let (old, next) = (w.authority.insecure_clone(), w.fresh_key());
    let stranger = w.fresh_key();
    let early = ix::market_accept_authority(&next.pubkey());
    w.refused(early.clone(), &[&next], MarketError::NothingPending);
    w.ok(ix::market_set_authority(&w, next.pubkey()), &[&old]);
    let by_stranger = ix::market_accept_authority(&stranger.pubkey());
    w.refused(by_stranger, &[&stranger], MarketError::Unauthorised);
    let silent = unsigned(early.clone(), &next.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let forged = w.forged(&pda::market());
    let elsewhere = swap(early.clone(), &pda::market(), &forged);
    w.refused(elsewhere, &[&next], InstructionError::IllegalOwner);
    w.ok(early.clone(), &[&next]);
    w.refused(early, &[&next], MarketError::NothingPending);
}
