//! B3, C2, C5: terms that no machine reaches, disputes that keep a mended node away, sleep.

use gantry_market::constants::FLAG_WORK_FAILED;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::math::reputation::reputation_of;
use gantry_market::state::{Node, NODE_ACTIVE, NODE_HIBERNATED, NODE_SUSPENDED};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;

use crate::sums::attempt;

/// C5: a node sleeps for half a year.
#[test]
fn sleep_is_no_reputation() {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let status =
        |status| ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, ASK, status);
    let shown = |w: &Testbed| {
        let (node, now): (Node, i64) = (w.read(&machine.node), w.now());
        let score = node.record(now).score;
        (reputation_of(&score, now), score.shown_uptime_bps(), node.checks_total)
    };
    let before = shown(&w);
    w.ok(status(NODE_HIBERNATED), &[&provider.key]);
    w.warp(180 * 86_400);
    w.ok(status(NODE_ACTIVE), &[&provider.key]);
    let after = shown(&w);
    println!("reputation, uptime, checks: {before:?} to {after:?}");
    assert_eq!((after.0, after.1), (before.0, 0));
}

/// C2: a node is mended after a conviction while a dispute of a lease is open, or its fault pends.
#[test]
fn disputes_do_not_keep_a_mended_node_away() {
    for pends in [false, true] {
        let mut w = Testbed::new();
        let deal = w.running();
        w.warp(30);
        w.settle(&deal, 1, 30);
        let period = w.period() + 1;
        w.warp_past_period(period);
        let node = deal.machine.node;
        let leaf = LeafData { flags: FLAG_WORK_FAILED, ..w.good_leaf(node, Address::default(), period) };
        let proofs = w.finalise(&deal.keeper, &[leaf]);
        w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proofs[0]), &[&deal.keeper.key]);
        let open = ix::dispute_open(&w, &deal.lease, 1, [4; 32]);
        println!("dispute {:?}", attempt(&mut w, &[open], &[&deal.customer.key]));
        w.warp(i64::from(w.params.appeal_secs));
        let fault = pda::fault(&node, &Address::default(), period);
        w.ok(ix::slash_apply(&w, &fault), &[]);
        let compensate = ix::slash_compensate(&w, &fault, &deal.lease);
        println!("compensate {:?}", attempt(&mut w, &[compensate], &[]));
        if pends && w.exists(&pda::dispute(&deal.lease)) {
            let vote = ix::dispute_vote(&deal.keeper, &deal.lease, 1);
            println!("vote {:?}", attempt(&mut w, &[vote], &[deal.keeper.signing()]));
            let uphold = ix::dispute_uphold(&w, &deal.keeper.wallet(), &deal.lease);
            println!("uphold {:?}", attempt(&mut w, &[uphold], &[&deal.keeper.key]));
        }
        let state: Node = w.read(&node);
        println!("faults pending {}, of the machine {}", state.pending_faults, state.pending_node_faults);
        let provider = &deal.provider;
        w.ok(ix::provider_stake(&w, provider, 20_000_000_000), &[&provider.key]);
        let mend = ix::node_update(&provider.wallet(), &provider.provider(), &node, ASK, NODE_ACTIVE);
        let mended = attempt(&mut w, &[mend], &[&provider.key]);
        println!("mended while a fault of a dispute pends ({pends}): {mended:?}");
        assert_eq!(mended, Ok(()));
    }
}

/// B3: a class is calibrated as no machine can be. Honest figures, for more periods than make a machine slow.
fn impossible(accepts: bool) -> (u8, u8, bool) {
    let mut w = Testbed::new();
    let voter = w.keeper(10_000_000_000);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let until = w.now() + 100_000;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_000), &[&provider.key]);
    w.warp(4_000);
    w.model(GpuModelArgs { min_operations: u32::MAX, ..ix::h100() });
    if accepts {
        let accept = ix::node_accept_terms(&w, &provider.wallet(), &machine.node);
        println!("accept {:?}", attempt(&mut w, &[accept], &[&provider.key]));
    }
    for _ in 0..20 {
        let period = w.period();
        w.warp_past_period(period);
        let leaf = LeafData {
            operations: 1_000_000,
            bandwidth: 3_000_000,
            ..w.good_leaf(machine.node, Address::default(), period)
        };
        let proofs = w.finalise(&voter, &[leaf]);
        if attempt(&mut w, &[ix::report_apply(&proofs[0])], &[]).is_err() {
            let open = ix::fault_open_of(&w, &voter.wallet(), &proofs[0], true);
            println!("fault {:?}", attempt(&mut w, &[open], &[&voter.key]));
        }
    }
    let node: Node = w.read(&machine.node);
    let sleep =
        ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, ASK, NODE_HIBERNATED);
    let leaves = attempt(&mut w, &[sleep], &[&provider.key]);
    println!("accepts {accepts}: status {}, slow {}, hibernates {leaves:?}", node.status, node.slow_periods);
    (node.status, node.slow_periods, leaves.is_ok())
}

#[test]
fn impossible_terms_slash_nobody_that_did_not_take_them() {
    let (status, slow, _) = impossible(false);
    assert_eq!((status, slow), (NODE_ACTIVE, 0));
    let (status, ..) = impossible(true);
    println!("who accepts them is suspended: {}", status == NODE_SUSPENDED);
}
