use gantry_market::errors::MarketError;
use gantry_market::events::TermsAccepted;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::Node;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::Machine;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A node whose model has other terms since it registered: it is calibrated.
fn behind() -> (Testbed, Actor, Machine) {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    w.warp(5);
    w.model(GpuModelArgs { min_operations: 1_000, min_bandwidth: 500, ..ix::h100() });
    w.warp(5);
    (w, provider, machine)
}

#[test]
fn wallet_and_agent_accept() {
    for by_agent in [false, true] {
        let (mut w, provider, machine) = behind();
        let key = if by_agent { &machine.key } else { &provider.key };
        let before: Node = w.read(&machine.node);
        let meta = w.ok(ix::node_accept_terms(&w, &key.pubkey(), &machine.node), &[key]);
        assert_emitted(
            &meta,
            &TermsAccepted { node: machine.node, min_operations: 1_000, min_bandwidth: 500 },
        );
        let node: Node = w.read(&machine.node);
        assert_eq!((node.min_operations, node.min_bandwidth, node.terms_at), (1_000, 500, w.now()));
        assert_eq!((node.required_stake, node.price), (before.required_stake, before.price));
    }
}

/// Finding C 7.
#[test]
fn a_node_that_does_not_know_its_terms_gets_nothing_new() {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    w.warp(5);
    w.model(GpuModelArgs { min_stake: 9_000_000_000, ..ix::h100() });
    w.warp(5);
    let keeper = w.keeper(w.params.min_bond);
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, ix::order_args(1));
    let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
    w.refused(award.clone(), &[&keeper.key], MarketError::UnsuitableModel);
    w.ok(ix::node_accept_terms(&w, &machine.key.pubkey(), &machine.node), &[&machine.key]);
    w.ok(award, &[&keeper.key]);
}

#[test]
fn once_for_each_change() {
    let (mut w, _, machine) = behind();
    let accept = ix::node_accept_terms(&w, &machine.key.pubkey(), &machine.node);
    w.ok(accept.clone(), &[&machine.key]);
    w.warp(5);
    w.refused(accept, &[&machine.key], MarketError::AlreadyApplied);
}

/// What follows from it: `figures::terms_wait_for_a_fault_and_only_other_thresholds_clear_shares`.
#[test]
fn not_while_a_fault_of_the_machine_is_open() {
    let (mut w, _, machine) = behind();
    w.alter(&machine.node, |n: &mut Node| (n.pending_node_faults, n.frozen_from) = (1, 1));
    let accept = ix::node_accept_terms(&w, &machine.key.pubkey(), &machine.node);
    w.refused(accept.clone(), &[&machine.key], MarketError::FaultPending);
    w.alter(&machine.node, |n: &mut Node| (n.pending_node_faults, n.frozen_from) = (0, 0));
    w.ok(accept, &[&machine.key]);
}

#[test]
fn a_retired_node_accepts_nothing() {
    let (mut w, provider, machine) = behind();
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    let accept = ix::node_accept_terms(&w, &machine.key.pubkey(), &machine.node);
    w.refused(accept, &[&machine.key], MarketError::WrongNodeStatus);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = behind();
    let key = machine.key.pubkey();
    let good = ix::node_accept_terms(&w, &key, &machine.node);
    let silent = unsigned(good.clone(), &key);
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let stranger = w.provider(20_000_000_000);
    let by_stranger = swap(good.clone(), &key, &stranger.wallet());
    w.refused(by_stranger, &[&stranger.key], MarketError::Unauthorised);
    w.model(GpuModelArgs { id: 2, ..ix::h100() });
    let cases = [
        ("provider", provider.provider(), stranger.provider(), MarketError::WrongAccount.into()),
        ("model", pda::gpu_model(1), pda::gpu_model(2), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[&machine.key], &cases);
    for at in [provider.provider(), machine.node, pda::gpu_model(1)] {
        let fake = w.forged(&at);
        w.refused(swap(good.clone(), &at, &fake), &[&machine.key], InstructionError::IllegalOwner);
    }
}
