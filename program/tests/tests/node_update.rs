use gantry_market::errors::MarketError;
use gantry_market::events::{NodeStaked, NodeUpdated};
use gantry_market::state::{
    Node, Provider, NODE_ACTIVE, NODE_DRAINING, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

fn ready() -> (Testbed, Actor, Machine) {
    let mut w = Testbed::quick();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    w.warp(10);
    (w, provider, machine)
}

fn update(by: &Address, provider: &Actor, machine: &Machine, price: u64, status: u8) -> Instruction {
    ix::node_update(by, &provider.provider(), &machine.node, price, status)
}

#[test]
fn owner_and_agent_set_the_ask() {
    let (mut w, provider, machine) = ready();
    let key = machine.key.pubkey();
    let meta = w.ok(update(&provider.wallet(), &provider, &machine, ASK + 1, NODE_ACTIVE), &[&provider.key]);
    assert_emitted(
        &meta,
        &NodeUpdated {
            node: machine.node,
            price: ASK + 1,
            status: NODE_ACTIVE,
            isolation: 0,
            cuda: 0,
            spot_bps: 0,
        },
    );
    let node: Node = w.read(&machine.node);
    assert_eq!((node.price, node.ask_since), (ASK + 1, w.now()));
    assert_eq!(node.available_since, w.now() - 10, "it was available all the while");
    w.warp(5);
    w.ok(update(&key, &provider, &machine, ASK + 1, NODE_ACTIVE), &[&machine.key]);
    assert_eq!(w.read::<Node>(&machine.node).ask_since, w.now() - 5, "the same ask is not a new one");
    w.ok(update(&key, &provider, &machine, ASK, NODE_ACTIVE), &[&machine.key]);
    assert_eq!(w.read::<Node>(&machine.node).ask_since, w.now());
}

/// Else an honest award would look unjust afterwards: what is compared with it must have held all the time.
#[test]
fn isolation_and_cuda_change_only_while_the_node_takes_no_orders() {
    let (mut w, provider, machine) = ready();
    let key = machine.key.pubkey();
    let change = |status: u8, isolation: u8, cuda: u16| {
        ix::node_set_spec(&key, &provider.provider(), &machine.node, ASK, status, (isolation, cuda))
    };
    for (isolation, cuda) in [(1, 0), (0, 1204)] {
        w.refused(change(NODE_ACTIVE, isolation, cuda), &[&machine.key], MarketError::WrongNodeStatus);
        w.refused(change(NODE_HIBERNATED, isolation, cuda), &[&machine.key], MarketError::WrongNodeStatus);
    }
    w.ok(change(NODE_HIBERNATED, 0, 0), &[&machine.key]);
    w.warp(7);
    w.refused(change(NODE_ACTIVE, 3, 0), &[&machine.key], MarketError::InvalidSpec);
    w.ok(change(NODE_ACTIVE, 2, 1204), &[&machine.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.spec.isolation, node.spec.cuda, node.available_since), (2, 1204, w.now()));
}

#[test]
fn a_node_sleeps_drains_and_comes_back() {
    let (mut w, provider, machine) = ready();
    let key = machine.key.pubkey();
    for status in [NODE_HIBERNATED, NODE_DRAINING] {
        w.ok(update(&key, &provider, &machine, ASK, status), &[&machine.key]);
        assert_eq!(w.read::<Node>(&machine.node).status, status);
        w.warp(7);
        w.ok(update(&key, &provider, &machine, ASK, NODE_ACTIVE), &[&machine.key]);
        assert_eq!(w.read::<Node>(&machine.node).available_since, w.now());
    }
}

/// Whoever committed a machine may change its ask, but neither lets it sleep nor drains it.
#[test]
fn a_committed_node_stays_active() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 1_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    let by = provider.wallet();
    for status in [NODE_HIBERNATED, NODE_DRAINING] {
        let sleep = update(&by, &provider, &machine, ASK, status);
        w.refused(sleep, &[&provider.key], MarketError::GuaranteeRunning);
    }
    w.ok(update(&by, &provider, &machine, ASK + 1, NODE_ACTIVE), &[&provider.key]);
    w.set_now(until);
    w.ok(update(&by, &provider, &machine, ASK, NODE_HIBERNATED), &[&provider.key]);
}

#[test]
fn an_ask_is_not_zero_and_a_status_is_one_to_choose() {
    let (mut w, provider, machine) = ready();
    let by = provider.wallet();
    w.refused(update(&by, &provider, &machine, 0, NODE_ACTIVE), &[&provider.key], MarketError::ZeroPrice);
    let dear = ix::with_spot(update(&by, &provider, &machine, ASK, NODE_ACTIVE), 10_001);
    w.refused(dear, &[&provider.key], MarketError::SpotPriceOutOfRange);
    for status in [0, NODE_RETIRED, NODE_SUSPENDED, 6, 255] {
        let instruction = update(&by, &provider, &machine, ASK, status);
        w.refused(instruction, &[&provider.key], MarketError::WrongNodeStatus);
    }
}

#[test]
fn a_retired_node_stays_retired() {
    let (mut w, provider, machine) = ready();
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    let back = update(&provider.wallet(), &provider, &machine, ASK, NODE_ACTIVE);
    w.refused(back, &[&provider.key], MarketError::WrongNodeStatus);
}

#[test]
fn only_the_owner_brings_a_suspended_node_back_once_its_faults_are_settled() {
    let (mut w, provider, machine) = ready();
    w.alter(&machine.node, |n: &mut Node| {
        (n.status, n.pending_faults, n.pending_node_faults, n.frozen_from) = (NODE_SUSPENDED, 2, 1, 1);
    });
    let by_owner = update(&provider.wallet(), &provider, &machine, ASK, NODE_ACTIVE);
    let by_agent = update(&machine.key.pubkey(), &provider, &machine, ASK, NODE_ACTIVE);
    w.refused(by_owner.clone(), &[&provider.key], MarketError::FaultPending);
    w.refused(by_agent.clone(), &[&machine.key], MarketError::FaultPending);
    // A dispute of a lease is still open. Finding P 19: disputes in a row would keep a mended machine away.
    w.alter(&machine.node, |n: &mut Node| {
        (n.pending_faults, n.pending_node_faults, n.frozen_from) = (1, 0, 0);
    });
    w.refused(by_agent, &[&machine.key], MarketError::Unauthorised);
    w.ok(by_owner, &[&provider.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.status, node.available_since), (NODE_ACTIVE, w.now()));
}

/// The wallet tops a node up from stake that no node has, and gets back what is too much.
/// Finding R 4.
#[test]
fn the_wallet_tops_a_node_up() {
    let (mut w, provider, machine) = ready();
    w.alter(&machine.node, |n: &mut Node| (n.stake, n.reserved_stake) = (9_000_000_000, 500_000_000));
    w.alter(&provider.provider(), |p: &mut Provider| {
        (p.stake, p.locked_stake) = (10_499_999_999, 9_000_000_000)
    });
    let by_wallet = update(&provider.wallet(), &provider, &machine, ASK, NODE_ACTIVE);
    w.refused(by_wallet.clone(), &[&provider.key], MarketError::InsufficientStake);
    // The agent has no stake to add: it goes on without.
    w.ok(update(&machine.key.pubkey(), &provider, &machine, ASK + 1, NODE_ACTIVE), &[&machine.key]);
    assert_eq!(w.read::<Node>(&machine.node).stake, 9_000_000_000);
    w.alter(&provider.provider(), |p: &mut Provider| p.stake += 1);
    let meta = w.ok(by_wallet.clone(), &[&provider.key]);
    let staked = NodeStaked { node: machine.node, provider: provider.provider(), stake: 10_500_000_000 };
    assert_emitted(&meta, &staked);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.stake, node.covered_since), (10_500_000_000, w.now()));
    assert_eq!(w.read::<Provider>(&provider.provider()).locked_stake, 10_500_000_000);
    // The fault gave back what it held.
    w.alter(&machine.node, |n: &mut Node| n.reserved_stake = 0);
    w.warp(1);
    w.ok(by_wallet, &[&provider.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.stake, node.covered_since), (10_000_000_000, w.now() - 1));
    assert_eq!(w.read::<Provider>(&provider.provider()).locked_stake, 10_000_000_000);
}

/// Finding R 10.
#[test]
fn a_dead_gpu_does_not_work_again_before_its_time() {
    let (mut w, provider, machine) = ready();
    let until = w.now() + 100;
    w.alter(&machine.node, |n: &mut Node| (n.status, n.dead_until) = (NODE_SUSPENDED, until));
    let wake = update(&provider.wallet(), &provider, &machine, ASK, NODE_ACTIVE);
    w.refused(wake.clone(), &[&provider.key], MarketError::TooEarly);
    w.warp(100);
    w.ok(wake, &[&provider.key]);
    assert_eq!(w.read::<Node>(&machine.node).dead_until, 0);
}

#[test]
fn a_paused_market_still_lets_nodes_change() {
    let (mut w, provider, machine) = ready();
    w.pause();
    w.ok(update(&provider.wallet(), &provider, &machine, ASK, NODE_DRAINING), &[&provider.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = ready();
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 1);
    let good = update(&provider.wallet(), &provider, &machine, ASK, NODE_ACTIVE);
    let silent = unsigned(good.clone(), &provider.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (forged_node, forged_provider) = (w.forged(&machine.node), w.forged(&provider.provider()));
    let twin = w.twin(&provider.provider());
    let cases = [
        ("signer", provider.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("machine's key", provider.wallet(), others.key.pubkey(), MarketError::Unauthorised.into()),
        ("provider", provider.provider(), other.provider(), MarketError::WrongAccount.into()),
        ("provider's address", provider.provider(), twin, MarketError::WrongAccount.into()),
        ("provider's program", provider.provider(), forged_provider, InstructionError::IllegalOwner.into()),
        ("node", machine.node, others.node, MarketError::WrongAccount.into()),
        ("node's program", machine.node, forged_node, InstructionError::IllegalOwner.into()),
        ("node's type", machine.node, pda::market(), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&provider.key, &other.key, &others.key], &cases);
}

/// Finding R 2.
#[test]
fn a_conviction_is_mended_when_its_leases_are_cut() {
    let mut w = Testbed::new();
    let deal = w.running();
    let node = deal.machine.node;
    w.alter(&node, |n: &mut Node| {
        (n.status, n.convicted, n.convicted_from, n.suspended_at) =
            (NODE_SUSPENDED, 1, n.registered_at, n.registered_at);
    });
    let update =
        ix::node_update(&deal.provider.wallet(), &deal.provider.provider(), &node, 2_000_000, NODE_ACTIVE);
    w.refused(update.clone(), &[&deal.provider.key], MarketError::StillInUse);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(update, &[&deal.provider.key]);
    let state: Node = w.read(&node);
    assert_eq!((state.status, state.convicted, state.convicted_from), (NODE_ACTIVE, 0, 0));
    assert_eq!((state.open_leases, state.cut_leases), (1, 1));
}
