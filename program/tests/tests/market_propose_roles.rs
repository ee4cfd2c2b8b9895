use gantry_market::errors::MarketError;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// Finding C 7.
#[test]
fn a_proposal_waits_and_changes_nothing_yet() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let (guardian, treasury) = (w.fresh_address(), w.actor().payment);
    w.ok(ix::market_propose_roles(&w, guardian, treasury), &[&authority]);
    let market = w.market();
    assert_eq!((market.guardian, market.treasury), (w.guardian.pubkey(), w.treasury));
    assert_eq!((market.pending_guardian, market.pending_treasury), (guardian, treasury));
    assert_eq!(market.pending_roles_eta, w.now() + i64::from(w.params.timelock_secs));
    assert_eq!((market.authority, market.pending_authority), (authority.pubkey(), authority.pubkey()));
    // Parameters and roles wait apart from each other.
    assert_eq!(market.pending_eta, 0);
}

#[test]
fn a_new_proposal_starts_its_own_wait() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let (guardian, treasury) = (w.guardian.pubkey(), w.actor().payment);
    w.ok(ix::market_propose_roles(&w, guardian, treasury), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.ok(ix::market_propose_roles(&w, guardian, w.treasury), &[&authority]);
    w.warp(1);
    w.refused(ix::market_apply_roles(&w), &[], MarketError::TimelockRunning);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let (authority, guardian) = (w.authority.insecure_clone(), w.guardian.insecure_clone());
    let good = ix::market_propose_roles(&w, guardian.pubkey(), w.treasury);
    let by_guardian = swap(good.clone(), &authority.pubkey(), &guardian.pubkey());
    w.refused(by_guardian, &[&guardian], MarketError::Unauthorised);
    let silent = unsigned(good.clone(), &authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    // Stake tokens are no payment.
    let (treasury, stake) = (w.treasury, w.actor().stake);
    w.refused(swap(good.clone(), &treasury, &stake), &[&authority], MarketError::WrongMint);
    let forged = w.forged(&pda::market());
    w.refused(swap(good.clone(), &pda::market(), &forged), &[&authority], InstructionError::IllegalOwner);
    // What the treasury got there would be counted as nobody's.
    let fees = w.market().fee_vault;
    w.refused(swap(good.clone(), &treasury, &fees), &[&authority], MarketError::WrongAccount);
    let no_account = w.fresh_address();
    w.refused(swap(good, &treasury, &no_account), &[&authority], InstructionError::IllegalOwner);
}
