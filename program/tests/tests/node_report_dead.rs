use gantry_market::constants::DEAD_GPU_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::NodeDied;
use gantry_market::state::{
    DeviceClaim, Node, Provider, LEASE_FAILED, NODE_ACTIVE, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market_tests::attempts::without_last;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A node of two GPUs with 20 tokens of its own, and ten more that no node has.
fn ready() -> (Testbed, Actor, Machine) {
    let mut w = Testbed::new();
    let provider = w.provider(30_000_000_000);
    let machine = w.machine(&provider, 2);
    w.warp(10);
    (w, provider, machine)
}

fn by_agent(w: &Testbed, machine: &Machine) -> Instruction {
    ix::node_report_dead(w, &machine.key.pubkey(), &machine.node)
}

fn back(provider: &Actor, machine: &Machine) -> Instruction {
    ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, ASK, NODE_ACTIVE)
}

#[test]
fn a_dead_gpu_costs_one_percent_and_thirty_days() {
    let (mut w, provider, machine) = ready();
    let supply = w.supply(&w.stake_mint);
    let meta = w.ok(by_agent(&w, &machine), &[&machine.key]);
    let until = w.now() + DEAD_GPU_SECS;
    let (amount, of) = (200_000_000, provider.provider());
    assert_emitted(&meta, &NodeDied { node: machine.node, provider: of, amount, until });
    let node: Node = w.read(&machine.node);
    assert_eq!((node.status, node.dead_until, node.deaths), (NODE_SUSPENDED, until, 1));
    assert_eq!((node.stake, node.convicted), (19_800_000_000, 0));
    let state: Provider = w.read(&of);
    assert_eq!(
        (state.stake, state.locked_stake, state.slashed_total),
        (29_800_000_000, 19_800_000_000, amount)
    );
    assert_eq!(w.supply(&w.stake_mint), supply - amount, "all of it is burned");
    // It neither works nor leaves before.
    w.warp(DEAD_GPU_SECS - 1);
    w.refused(back(&provider, &machine), &[&provider.key], MarketError::TooEarly);
    w.refused(ix::node_retire(&provider, &machine.node), &[&provider.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(back(&provider, &machine), &[&provider.key]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.status, node.dead_until, node.stake), (NODE_ACTIVE, 0, 20_000_000_000));
    assert_eq!(node.relapses, 0, "a death is no conviction");
}

/// Nobody knows when the GPU died: what was not paid since the machine last passed is the customer's again.
#[test]
fn seconds_since_the_last_pass_come_back() {
    let mut w = Testbed::new();
    let deal = w.running();
    // What is said of the period of its registration is of the time before it too.
    let good = w.period() + 1;
    w.warp_past_period(good);
    let proof = w.finalise(&deal.keeper, &[w.good_leaf(deal.machine.node, deal.lease, good)]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    let since = ((good + 1) * 60) as i64;
    assert_eq!(w.read::<Node>(&deal.machine.node).good_since, since);
    w.warp(60);
    let served = (since - deal.state(&w).started_at) as u32;
    w.ok(by_agent(&w, &deal.machine), &[&deal.machine.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.convicted, node.convicted_from), (0, since));
    // Both sides have signed for more; what was delivered until the last pass is paid.
    w.settle(&deal, 1, served + 50);
    assert_eq!(deal.state(&w).paid_secs, served);
    // The lease has failed there at once, and may move.
    let stranger = w.actor();
    let end = ix::lease_end(&w, &stranger.wallet(), &deal.lease, 0);
    w.ok(end.clone(), &[&stranger.key]);
    let lease = deal.state(&w);
    assert_eq!((lease.status, lease.ended_at, lease.cut), (LEASE_FAILED, since, 1));
    assert!(lease.can_migrate().expect("fits"));
    // It is not paid later either: the node works again only when none is left that might be.
    let other = w.fork();
    w.alter(&deal.machine.node, |n: &mut Node| n.cut_leases = 0);
    w.warp(DEAD_GPU_SECS);
    w.refused(back(&deal.provider, &deal.machine), &[&deal.provider.key], MarketError::StillInUse);
    w = other;
    w.warp(DEAD_GPU_SECS);
    w.ok(ix::provider_stake(&w, &deal.provider, 1_000_000_000), &[&deal.provider.key]);
    w.ok(end, &[&stranger.key]);
    w.ok(back(&deal.provider, &deal.machine), &[&deal.provider.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.convicted_from, node.relapses), (0, 0));
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(deal.state(&w).paid_secs, served);
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.ok(close, &[&deal.customer.key]);
}

#[test]
fn each_death_within_a_year_costs_twice_as_much() {
    let (mut w, provider, machine) = ready();
    let mut slashed = 0;
    for cost in [200_000_000, 400_000_000, 800_000_000] {
        w.ok(by_agent(&w, &machine), &[&machine.key]);
        slashed += cost;
        assert_eq!(w.read::<Provider>(&provider.provider()).slashed_total, slashed);
        w.warp(DEAD_GPU_SECS);
        w.ok(back(&provider, &machine), &[&provider.key]);
    }
    // A year after the last one it starts again.
    w.warp(31_536_000 - DEAD_GPU_SECS);
    w.ok(by_agent(&w, &machine), &[&machine.key]);
    assert_eq!(w.read::<Provider>(&provider.provider()).slashed_total, slashed + 200_000_000);
}

/// Its devices stay with it: evidence of another node does not take what it vouched for.
/// Finding R 10.
#[test]
fn the_devices_are_locked() {
    let (mut w, _, machine) = ready();
    let devices = ix::devices(&machine.key.pubkey(), 2).map(|device| pda::device(&device));
    let soon = w.now() + 60;
    w.alter(&devices[0], |c: &mut DeviceClaim| c.set(3, soon).expect("fits"));
    w.ok(by_agent(&w, &machine), &[&machine.key]);
    let claim = |w: &Testbed, at| w.read::<DeviceClaim>(&devices[at]);
    assert_eq!((claim(&w, 0).tier, claim(&w, 0).expires()), (3, w.now() + DEAD_GPU_SECS));
    // What the node only claimed is locked for nobody.
    assert_eq!((claim(&w, 1).tier, claim(&w, 1).expires()), (1, 0));
}

#[test]
fn every_claim_that_it_holds_is_named() {
    let (mut w, provider, machine) = ready();
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 2);
    let good = by_agent(&w, &machine);
    w.refused(without_last(good.clone()), &[&machine.key], MarketError::DeviceCountMismatch);
    let devices = ix::devices(&machine.key.pubkey(), 2);
    let foreign = pda::device(&ix::devices(&others.key.pubkey(), 2)[0]);
    let wrong = swap(good.clone(), &pda::device(&devices[1]), &foreign);
    w.refused(wrong, &[&machine.key], MarketError::WrongAccount);
    let twice = swap(good.clone(), &pda::device(&devices[1]), &pda::device(&devices[0]));
    w.refused(twice, &[&machine.key], MarketError::WrongAccount);
    w.alter(&machine.node, |n: &mut Node| n.claims_missing = 1);
    w.ok(without_last(good), &[&machine.key]);
    assert_eq!(w.read::<Provider>(&provider.provider()).slashed_total, 200_000_000);
}

/// A node with a fault has its cause; one that sleeps may find its GPU dead as well.
#[test]
fn only_a_node_that_is_neither_suspended_nor_retired() {
    let (mut w, _, machine) = ready();
    for status in [NODE_SUSPENDED, NODE_RETIRED] {
        w.alter(&machine.node, |n: &mut Node| n.status = status);
        w.refused(by_agent(&w, &machine), &[&machine.key], MarketError::WrongNodeStatus);
    }
    w.alter(&machine.node, |n: &mut Node| n.status = NODE_HIBERNATED);
    w.pause();
    w.ok(by_agent(&w, &machine), &[&machine.key]);
    w.refused(by_agent(&w, &machine), &[&machine.key], MarketError::WrongNodeStatus);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, provider, machine) = ready();
    let other = w.provider(20_000_000_000);
    let others = w.machine(&other, 1);
    let good = ix::node_report_dead(&w, &provider.wallet(), &machine.node);
    let silent = unsigned(good.clone(), &provider.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (at, vault) = (provider.provider(), provider.provider_vault());
    for of in [pda::market(), machine.node, at] {
        let fake = w.forged(&of);
        w.refuses_swaps(
            &good,
            &[&provider.key],
            &[("program", of, fake, InstructionError::IllegalOwner.into())],
        );
    }
    let (twin, fake_mint, mint) = (w.twin(&vault), w.twin(&w.stake_mint.clone()), w.stake_mint);
    let cases: [(_, _, _, Code); 8] = [
        ("signer", provider.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("machine's key", provider.wallet(), others.key.pubkey(), MarketError::Unauthorised.into()),
        ("node", machine.node, others.node, MarketError::WrongAccount.into()),
        ("provider", at, other.provider(), MarketError::WrongAccount.into()),
        ("vault", vault, other.provider_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[&provider.key, &other.key, &others.key], &cases);
    w.ok(good, &[&provider.key]);
}
