use gantry_market::errors::MarketError;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{GpuModel, Node};
use gantry_market_tests::testbed::H100;
use gantry_market_tests::transactions::swap;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

/// Calibrated, at twice the stake, proposed.
fn proposed() -> (Testbed, GpuModelArgs) {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let model = ix::h100();
    let args = GpuModelArgs { min_stake: 2 * model.min_stake, min_operations: 1_000, ..model };
    w.ok(ix::gpu_model_propose(&w, args), &[&authority]);
    (w, args)
}

#[test]
fn anyone_applies_once_the_time_has_come() {
    let (mut w, args) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::gpu_model_apply(H100), &[]);
    let model: GpuModel = w.read(&pda::gpu_model(H100));
    assert_eq!((model.min_stake, model.min_operations), (args.min_stake, 1_000));
    assert_eq!((model.reference_price, model.min_bandwidth), (args.reference_price, 0));
    assert_eq!((model.since, model.pending_eta, model.pending.min_stake), (w.now(), 0, 0));
    w.refused(ix::gpu_model_apply(H100), &[], MarketError::NothingPending);
}

/// Finding C 7.
#[test]
fn not_a_second_before_the_timelock() {
    let (mut w, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.refused(ix::gpu_model_apply(H100), &[], MarketError::TimelockRunning);
}

#[test]
fn registered_nodes_keep_their_stake_and_their_terms() {
    let (mut w, args) = proposed();
    let provider = w.provider(60_000_000_000);
    let machine = w.machine(&provider, 1);
    let before: Node = w.read(&machine.node);
    assert_eq!((before.min_operations, before.min_bandwidth), (0, 0));
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::gpu_model_apply(H100), &[]);
    let after: Node = w.read(&machine.node);
    assert_eq!(bytemuck::bytes_of(&after), bytemuck::bytes_of(&before));
    // Who registers now does so by the new terms.
    let later: Node = {
        let machine = w.machine(&provider, 1);
        w.read(&machine.node)
    };
    assert_eq!((later.required_stake, later.min_operations), (args.min_stake, args.min_operations));
}

#[test]
fn an_account_of_another_program_is_refused() {
    let (mut w, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    let forged = w.forged(&pda::gpu_model(H100));
    let instruction = swap(ix::gpu_model_apply(H100), &pda::gpu_model(H100), &forged);
    w.refused(instruction, &[], InstructionError::IllegalOwner);
}
