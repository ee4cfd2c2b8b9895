use gantry_market::errors::MarketError;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

fn proposed() -> (Testbed, Keypair, Address) {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let (guardian, treasury) = (w.fresh_key(), w.actor().payment);
    w.ok(ix::market_propose_roles(&w, guardian.pubkey(), treasury), &[&authority]);
    (w, guardian, treasury)
}

#[test]
fn anyone_applies_once_the_time_has_come() {
    let (mut w, guardian, treasury) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_roles(&w), &[]);
    let market = w.market();
    assert_eq!((market.guardian, market.treasury), (guardian.pubkey(), treasury));
    assert_eq!((market.pending_guardian, market.pending_roles_eta), (Address::default(), 0));
    let old = w.guardian.insecure_clone();
    w.refused(ix::market_pause(&old.pubkey(), 3), &[&old], MarketError::Unauthorised);
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.refused(ix::market_apply_roles(&w), &[], MarketError::NothingPending);
}

#[test]
fn the_treasury_can_be_another_account_and_is_paid() {
    let mut w = Testbed::new();
    let deal = w.swept();
    let period = w.ripe(&[&deal.keeper]);
    let (authority, treasury) = (w.authority.insecure_clone(), w.actor());
    let propose = ix::market_propose_roles(&w, w.guardian.pubkey(), treasury.payment);
    w.ok(propose, &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_roles(&w), &[]);
    let (old, before) = (w.treasury, w.tokens(&treasury.payment));
    w.refused(ix::rewards_accrue(&w, period), &[], MarketError::WrongAccount);
    w.treasury = treasury.payment;
    w.ok(ix::rewards_accrue(&w, period), &[]);
    assert_eq!((w.tokens(&treasury.payment) - before, w.tokens(&old)), (16_000, 0));
}

fn succeeded() -> (Testbed, Keypair) {
    let mut w = Testbed::new();
    let (authority, next) = (w.authority.insecure_clone(), w.fresh_key());
    let propose = ix::market_propose_successor(&w, next.pubkey(), w.guardian.pubkey(), w.treasury);
    w.ok(propose, &[&authority]);
    (w, next)
}

#[test]
fn the_next_authority_takes_over_and_the_old_one_is_out() {
    let (mut w, next) = succeeded();
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_roles_by(&next.pubkey()), &[&next]);
    let (market, old) = (w.market(), w.authority.insecure_clone());
    assert_eq!((market.authority, market.pending_authority), (next.pubkey(), Address::default()));
    assert_eq!((market.guardian, market.treasury), (w.guardian.pubkey(), w.treasury));
    w.refused(ix::market_propose_params(&w, w.params), &[&old], MarketError::Unauthorised);
}

/// A thief of the authority's key cannot give the market away at once, nor to a key that nobody holds.
#[test]
fn only_the_next_authority_applies_its_own_succession() {
    let (mut w, next) = succeeded();
    let take = ix::market_apply_roles_by(&next.pubkey());
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.refused(take.clone(), &[&next], MarketError::TimelockRunning);
    w.warp(1);
    let old = w.authority.insecure_clone();
    w.refused(ix::market_apply_roles(&w), &[], MarketError::Unauthorised);
    w.refused(ix::market_apply_roles_by(&old.pubkey()), &[&old], MarketError::Unauthorised);
    w.refused(unsigned(take, &next.pubkey()), &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn another_proposal_takes_a_succession_back() {
    let (mut w, next) = succeeded();
    let authority = w.authority.insecure_clone();
    w.ok(ix::market_propose_roles(&w, w.guardian.pubkey(), w.treasury), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_roles_by(&next.pubkey()), &[&next]);
    assert_eq!(w.market().authority, authority.pubkey());
}

/// Finding C 7.
#[test]
fn not_a_second_before_the_timelock() {
    let (mut w, _, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.refused(ix::market_apply_roles(&w), &[], MarketError::TimelockRunning);
}

#[test]
fn a_false_market_is_refused() {
    let (mut w, _, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    let forged = w.forged(&pda::market());
    let instruction = swap(ix::market_apply_roles(&w), &pda::market(), &forged);
    w.refused(instruction, &[], InstructionError::IllegalOwner);
}
