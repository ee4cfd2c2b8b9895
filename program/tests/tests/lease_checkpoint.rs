use gantry_market::errors::MarketError;
use gantry_market::events::LeaseCheckpointed;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn the_last_checkpoint_counts() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.ok(ix::lease_checkpoint(&w, &deal.lease, [1; 32]), &[&deal.machine.key]);
    let meta = w.ok(ix::lease_checkpoint(&w, &deal.lease, [2; 32]), &[&deal.machine.key]);
    assert_eq!(deal.state(&w).checkpoint_hash, [2; 32]);
    assert_emitted(&meta, &LeaseCheckpointed { lease: deal.lease, hash: [2; 32] });
}

#[test]
fn only_while_it_runs() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let early = ix::lease_checkpoint(&w, &deal.lease, [1; 32]);
    w.refused(early.clone(), &[&deal.machine.key], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.refused(early, &[&deal.machine.key], MarketError::WrongLeaseStatus);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.running();
    let good = ix::lease_checkpoint(&w, &deal.lease, [1; 32]);
    let node_key = deal.machine.key.pubkey();
    let silent = unsigned(good.clone(), &node_key);
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    for who in [&deal.customer, &deal.provider] {
        let theft = swap(good.clone(), &node_key, &who.wallet());
        w.refused(theft, &[&who.key], MarketError::Unauthorised);
    }
    let lease = w.forged(&deal.lease);
    let cases = [("lease's program", deal.lease, lease, InstructionError::IllegalOwner.into())];
    w.refuses_swaps(&good, &[&deal.machine.key], &cases);
}
