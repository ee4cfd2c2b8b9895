use gantry_market::errors::MarketError;
use gantry_market::events::OutputRevealed;
use gantry_market::state::{Lease, OUTPUT_REVEALED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::Redundant;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// All three nodes have committed to the same output.
fn committed() -> (Testbed, Redundant) {
    let mut w = Testbed::new();
    let job = w.redundant();
    for at in 0..3 {
        job.commit(&mut w, at, 4);
    }
    (w, job)
}

#[test]
fn what_was_committed_to_is_shown() {
    let (mut w, job) = committed();
    let lease = job.runs[0].lease;
    let reveal = ix::output_reveal(&w, &lease, [4; 32], [0; 32]);
    let meta = w.ok(reveal.clone(), &[&job.runs[0].machine.key]);
    assert_emitted(&meta, &OutputRevealed { lease, output: [4; 32] });
    let state: Lease = w.read(&lease);
    assert_eq!((state.output, state.output_hash), (OUTPUT_REVEALED, [4; 32]));
    w.refused(reveal, &[&job.runs[0].machine.key], MarketError::WrongOutputState);
}

#[test]
fn nothing_else_is() {
    let (mut w, job) = committed();
    let lease = job.runs[0].lease;
    for (output, salt) in [([5; 32], [0; 32]), ([4; 32], [1; 32])] {
        let reveal = ix::output_reveal(&w, &lease, output, salt);
        w.refused(reveal, &[&job.runs[0].machine.key], MarketError::WrongReveal);
    }
    // Another node's commitment cannot be taken over: the lease is in it.
    let copied = ix::output_commitment(&job.runs[1].lease, &[4; 32], &[1; 32]);
    w.alter(&lease, |l: &mut Lease| l.output_hash = copied);
    let reveal = ix::output_reveal(&w, &lease, [4; 32], [1; 32]);
    w.refused(reveal, &[&job.runs[0].machine.key], MarketError::WrongReveal);
}

#[test]
fn not_while_others_could_still_copy_it_and_not_for_ever() {
    let mut w = Testbed::new();
    let job = w.redundant();
    job.commit(&mut w, 0, 4);
    job.commit(&mut w, 1, 4);
    let (first, second) = (&job.runs[0], &job.runs[1]);
    let reveal = ix::output_reveal(&w, &first.lease, [4; 32], [0; 32]);
    w.warp(120 + 600 + 120);
    w.refused(reveal.clone(), &[&first.machine.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(reveal, &[&first.machine.key]);
    w.warp(119);
    let reveal = ix::output_reveal(&w, &second.lease, [4; 32], [1; 32]);
    w.ok(reveal, &[&second.machine.key]);
    let (mut w, job) = committed();
    w.warp(120 + 600 + 120 + 120 + 1);
    let late = ix::output_reveal(&w, &job.runs[0].lease, [4; 32], [0; 32]);
    w.refused(late, &[&job.runs[0].machine.key], MarketError::TooLate);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, job) = committed();
    let (run, other) = (&job.runs[0], &job.runs[1]);
    let good = ix::output_reveal(&w, &run.lease, [4; 32], [0; 32]);
    let node_key = run.machine.key.pubkey();
    w.refused(unsigned(good.clone(), &node_key), &[], InstructionError::MissingRequiredSignature);
    let mut by_other = good.clone();
    by_other.accounts[0].pubkey = other.machine.key.pubkey();
    w.refused(by_other, &[&other.machine.key], MarketError::Unauthorised);
    let key = [&run.machine.key];
    for at in [job.order, run.lease] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&job.order);
    w.refuses_swaps(&good, &key, &[("order", job.order, twin, MarketError::WrongAccount.into())]);
}
