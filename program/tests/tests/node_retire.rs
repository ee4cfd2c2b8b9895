use gantry_market::errors::MarketError;
use gantry_market::events::NodeRetired;
use gantry_market::state::{Node, NODE_ACTIVE, NODE_RETIRED, NODE_SUSPENDED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction_error::InstructionError;

fn ready() -> (Testbed, Actor, Machine) {
    let mut w = Testbed::quick();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    (w, provider, machine)
}

#[test]
fn a_node_leaves_for_good() {
    let (mut w, provider, machine) = ready();
    w.warp(5);
    let meta = w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    assert_emitted(&meta, &NodeRetired { node: machine.node, at: w.now() });
    let node: Node = w.read(&machine.node);
    assert_eq!((node.status, node.retired_at), (NODE_RETIRED, w.now()));
    assert_eq!(node.closes_at, w.now() + i64::from(w.params.unstake_cooldown_secs));
    w.warp(5);
    w.refused(ix::node_retire(&provider, &machine.node), &[&provider.key], MarketError::WrongNodeStatus);
    assert_eq!(w.read::<Node>(&machine.node).retired_at, w.now() - 5, "the wait does not start again");
}

#[test]
fn not_while_it_has_leases() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let retire = ix::node_retire(&deal.provider, &deal.machine.node);
    w.refused(retire, &[&deal.provider.key], MarketError::StillInUse);
}

/// A conviction ends with the wallet's word that the node is mended, so that the next one is a relapse.
#[test]
fn a_convicted_node_is_mended_before_it_leaves() {
    let (mut w, provider, machine) = ready();
    w.alter(&machine.node, |n: &mut Node| (n.status, n.convicted, n.cause_taken) = (NODE_SUSPENDED, 1, 5));
    let retire = ix::node_retire(&provider, &machine.node);
    w.refused(retire.clone(), &[&provider.key], MarketError::WrongNodeStatus);
    let update = ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, 1, NODE_ACTIVE);
    w.ok(update, &[&provider.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.convicted, node.cause_taken, node.relapses, node.mended_at), (0, 0, 1, w.now()));
    w.ok(retire, &[&provider.key]);
}

#[test]
fn not_before_its_commitment_is_settled() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 1_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    for now in [w.now(), until, until + 1_000_000] {
        w.set_now(now);
        w.refused(ix::node_retire(&provider, &machine.node), &[&provider.key], MarketError::GuaranteeRunning);
    }
}

/// Finding R 10.
#[test]
fn not_while_its_devices_are_locked() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 100;
    w.alter(&machine.node, |n: &mut Node| (n.status, n.dead_until) = (NODE_SUSPENDED, until));
    let retire = ix::node_retire(&provider, &machine.node);
    w.refused(retire.clone(), &[&provider.key], MarketError::TooEarly);
    w.warp(100);
    w.ok(retire, &[&provider.key]);
}

#[test]
fn a_suspended_node_may_leave_and_a_pause_stops_nobody() {
    let (mut w, provider, machine) = ready();
    w.alter(&machine.node, |n: &mut Node| n.status = NODE_SUSPENDED);
    w.pause();
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = ready();
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 1);
    let good = ix::node_retire(&provider, &machine.node);
    let silent = unsigned(good.clone(), &provider.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (forged_node, forged_provider) = (w.forged(&machine.node), w.forged(&provider.provider()));
    let cases = [
        ("signer", provider.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("market", pda::market(), w.forged(&pda::market()), InstructionError::IllegalOwner.into()),
        ("provider", provider.provider(), other.provider(), MarketError::WrongAccount.into()),
        ("provider's program", provider.provider(), forged_provider, InstructionError::IllegalOwner.into()),
        ("node", machine.node, others.node, MarketError::WrongAccount.into()),
        ("node's program", machine.node, forged_node, InstructionError::IllegalOwner.into()),
        ("node's type", machine.node, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&provider.key, &other.key], &cases);
}
