use gantry_market::errors::MarketError;
use gantry_market::events::OutputCommitted;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Order, LEASE_FAILED, OUTPUT_COMMITTED, OUTPUT_NONE, OUTPUT_WANTED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn a_commitment_is_kept_and_counted() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let (lease, key) = (job.runs[0].lease, &job.runs[0].machine.key);
    assert_eq!(w.read::<Lease>(&lease).output, OUTPUT_WANTED);
    let commit = ix::output_commit(&w, &lease, [8; 32]);
    let meta = w.ok(commit.clone(), &[key]);
    assert_emitted(&meta, &OutputCommitted { lease, commitment: [8; 32] });
    let state: Lease = w.read(&lease);
    assert_eq!((state.output, state.output_hash), (OUTPUT_COMMITTED, [8; 32]));
    assert_eq!(w.read::<Order>(&job.order).outputs, 1);
    w.refused(commit, &[key], MarketError::WrongOutputState);
}

#[test]
fn also_after_the_end_of_the_lease_and_not_after_the_deadline() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let run = &job.runs[0];
    w.ok(ix::lease_end(&w, &run.machine.key.pubkey(), &run.lease, 0), &[&run.machine.key]);
    // Start deadline, the ordered time, and two periods to settle.
    w.warp(120 + 600 + 120);
    w.ok(ix::output_commit(&w, &run.lease, [8; 32]), &[&run.machine.key]);
    w.warp(1);
    let late = ix::output_commit(&w, &job.runs[1].lease, [8; 32]);
    w.refused(late, &[&job.runs[1].machine.key], MarketError::TooLate);
}

#[test]
fn a_failed_lease_has_no_output() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let run = &job.runs[0];
    w.alter(&run.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, l.started_at));
    let commit = ix::output_commit(&w, &run.lease, [8; 32]);
    w.refused(commit, &[&run.machine.key], MarketError::WrongLeaseStatus);
}

#[test]
fn nothing_is_paid_before_the_outputs_are_compared() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let run = &job.runs[0];
    w.warp(100);
    w.ok_all(&ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 100), &[]);
    let lease: Lease = w.read(&run.lease);
    assert_eq!((lease.receipt_secs, lease.paid_secs, lease.paid), (100, 0, 0));
    w.ok(ix::lease_end(&w, &job.customer.wallet(), &run.lease, 0), &[&job.customer.key]);
    w.warp(100_000);
    let close = ix::lease_close(&w, &job.customer.wallet(), &run.lease);
    w.refused(close, &[&job.customer.key], MarketError::WrongOutputState);
}

#[test]
fn an_ordinary_lease_has_none() {
    let mut w = Testbed::new();
    let deal = w.running();
    assert_eq!(w.read::<Lease>(&deal.lease).output, OUTPUT_NONE);
    let commit = ix::output_commit(&w, &deal.lease, [8; 32]);
    w.refused(commit, &[&deal.machine.key], MarketError::WrongOutputState);
}

#[test]
fn redundancy_needs_a_job_that_ends_and_nodes_for_a_majority() {
    let mut w = Testbed::new();
    let customer = w.customer(1_000_000_000);
    let sound =
        OrderArgs { nodes: 3, run_to_completion: 1, redundant: 1, no_migration: 1, ..ix::order_args(1) };
    for args in [
        OrderArgs { nodes: 2, ..sound },
        OrderArgs { nodes: 9, ..sound },
        // Finding P 3: half of them could keep the others from a majority.
        OrderArgs { nodes: 4, ..sound },
        OrderArgs { nodes: 6, ..sound },
        OrderArgs { run_to_completion: 0, ..sound },
        OrderArgs { redundant: 2, ..sound },
        OrderArgs { no_migration: 0, ..sound },
    ] {
        let create = ix::order_create(&customer, args);
        w.refused(create, &[&customer.key], MarketError::InvalidRequirement);
    }
    w.ok(ix::order_create(&customer, sound), &[&customer.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let (run, other) = (&job.runs[0], &job.runs[1]);
    let good = ix::output_commit(&w, &run.lease, [8; 32]);
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
