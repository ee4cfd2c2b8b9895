//! B6, B8, B9: what victims of slashes get where somebody else stands between.

use gantry_market::constants::FLAG_WORK_FAILED;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Fault, Node, NODE_ACTIVE, NODE_HIBERNATED};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;

use crate::sums::{attempt, served, worth};

/// A machine whose victim paid for ten minutes in the period of the fault, after a sleep of so long. Returns the victim's
/// compensation in base units.
fn compensated(sleep: i64) -> u64 {
    let mut w = Testbed::new();
    let voter = w.keeper(10_000_000_000);
    let provider = w.provider(10_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    let status =
        |status| ix::node_update(&provider.wallet(), &provider.provider(), &machine.node, 2_000_000, status);
    if sleep > 0 {
        w.ok(status(NODE_HIBERNATED), &[&provider.key]);
        w.warp(sleep);
        w.ok(status(NODE_ACTIVE), &[&provider.key]);
    }
    w.warp_to_next_period();
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&voter, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.warp(600);
    let receipt = ix::receipt(&w, &lease, &machine.key, &customer.key, 1, 600);
    w.ok_all(&receipt, &[]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData { flags: FLAG_WORK_FAILED, ..served(&w, machine.node, lease, period, 0) };
    let proofs = w.finalise(&voter, &[leaf]);
    w.ok(ix::fault_open(&w, &voter.wallet(), &proofs[0]), &[&voter.key]);
    let fault = pda::fault(&machine.node, &Address::default(), period);
    w.warp(i64::from(w.params.appeal_secs));
    w.ok(ix::slash_apply(&w, &fault), &[]);
    let state: Fault = w.read(&fault);
    w.ok(ix::slash_compensate(&w, &fault, &lease), &[]);
    let before = worth(&w, &[&customer], &[]);
    let got = worth(&w, &[&customer], &[fault]) - before;
    println!(
        "slept {sleep} s: slashed {}, pool {}, window {} s, victim {got} µUSDC",
        state.amount,
        state.pool,
        state.window_until - state.window_from
    );
    got as u64
}

/// B8.
#[test]
fn a_machine_that_slept_dilutes_nobody() {
    let awake = compensated(0);
    for sleep in [3_600, 86_400, 7 * 86_400] {
        let asleep = compensated(sleep);
        assert!(asleep * 10 >= awake * 9, "the victim gets {asleep} in place of {awake}");
    }
}

/// A dispute is upheld while a fault of the machine is open, which is voided later by an appeal, or not opened at all.
fn upheld(hidden: bool) -> (u64, i64) {
    let mut w = Testbed::new();
    let voter = w.keeper(10_000_000_000);
    let provider = w.provider(10_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    w.warp_to_next_period();
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&voter, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.warp(1_500);
    let receipt = ix::receipt(&w, &lease, &machine.key, &customer.key, 1, 1_500);
    w.ok_all(&receipt, &[]);
    let mut other = None;
    if hidden {
        let period = w.period();
        w.warp_past_period(period);
        // Everything that a machine can be: all of its stake is held.
        let flags = gantry_market::constants::FLAG_DEVICE_CHANGED;
        let leaf = LeafData { flags, ..served(&w, machine.node, lease, period, 0) };
        let proofs = w.finalise(&voter, &[leaf]);
        w.ok(ix::fault_open(&w, &voter.wallet(), &proofs[0]), &[&voter.key]);
        other = Some((pda::fault(&machine.node, &Address::default(), period), period));
        println!("held {}", w.read::<Node>(&machine.node).reserved_stake);
    }
    w.ok(ix::dispute_open(&w, &lease, 2, [4; 32]), &[&customer.key]);
    w.ok(ix::dispute_vote(&voter, &lease, 1), &[voter.signing()]);
    w.ok(ix::dispute_uphold(&w, &voter.wallet(), &lease), &[&voter.key]);
    let fault = pda::dispute_fault(&lease);
    if let Some((machine_fault, period)) = other {
        let mut voided = false;
        for kind in 1..=8 {
            let statement = gantry_market_tests::leaves::statement(&machine.node, period, kind, true);
            let appeal = ix::slash_appeal(&w, &machine_fault, &voter, statement);
            let all = [ix::signed(voter.signing(), &statement), appeal];
            if attempt(&mut w, &all, &[voter.signing()]).is_ok() && !w.exists(&machine_fault) {
                voided = true;
                break;
            }
        }
        println!("voided {voided}");
    }
    w.warp(i64::from(w.params.appeal_secs) + 1);
    let before = worth(&w, &[&provider], &[]);
    let own = worth(&w, &[&customer], &[]);
    println!("apply {:?}", {
        let slash = ix::slash_apply(&w, &fault);
        attempt(&mut w, &[slash], &[])
    });
    println!("compensate {:?}", {
        let part = ix::slash_compensate(&w, &fault, &lease);
        attempt(&mut w, &[part], &[])
    });
    let slashed = before - worth(&w, &[&provider], &[]);
    let got = worth(&w, &[&customer], &[fault]) - own;
    println!("hidden {hidden}: slashed {slashed}, customer {got}");
    (slashed as u64, got)
}

/// B9.
#[test]
fn a_fault_opened_under_another_costs_as_much() {
    let (alone, under) = (upheld(false), upheld(true));
    assert!(under.0 >= alone.0 && under.1 >= alone.1, "{under:?} in place of {alone:?}");
}

/// A guarantee is broken with one victim and so many sham leases of a second; returns what the victim's lease gets.
fn resolved(shams: u64, busy: bool) -> i64 {
    let mut w = Testbed::new();
    let voter = w.keeper(100_000_000_000);
    let provider = w.provider(10_000_000_000 * 8);
    let machine = w.machine(&provider, 8);
    let (victim, sham) = (w.customer(100_000_000), w.customer(1_000_000_000));
    let until = w.now() + 2 * 3_600;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    w.warp_to_next_period();
    let args = OrderArgs { duration_secs: 20_000, ..ix::order_args(1) };
    let order = w.order(&victim, args);
    let lease = w.award(&voter, &victim, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    let mut leases = vec![lease];
    let rent = |w: &mut Testbed, nonce: u64| {
        let order = w.order(&sham, ix::order_args(nonce));
        let lease = w.award(&voter, &sham, &order, &provider, &machine);
        w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
        w.warp(1);
        let receipt = ix::receipt(w, &lease, &machine.key, &sham.key, 1, 1);
        w.ok_all(&receipt, &[]);
        w.ok(ix::lease_end(w, &sham.wallet(), &lease, 0), &[&sham.key]);
        lease
    };
    while w.now() < until {
        let period = w.period();
        w.warp_past_period(period);
        let leaf = LeafData { up_secs: 40, downtime_secs: 20, ..served(&w, machine.node, lease, period, 40) };
        let proofs = w.finalise(&voter, &[leaf]);
        w.ok(ix::report_apply(&proofs[0]), &[]);
        let settle = ix::lease_settle_report(&w, &lease);
        let _ = attempt(&mut w, &[settle], &[]);
        if busy && leases.len() as u64 <= shams && w.now() + 600 > until {
            for _ in 0..12 {
                let nonce = 10 + leases.len() as u64;
                leases.push(rent(&mut w, nonce));
            }
        }
    }
    let node: Node = w.read(&machine.node);
    w.set_now(node.guarantee_known_at().expect("fits") + 1);
    let fault = pda::guarantee_fault(&machine.node, node.guaranteed_until);
    let open: Vec<Address> = leases.iter().copied().filter(|lease| w.exists(lease)).collect();
    println!("{} leases open, the guarantee counts {}", open.len(), node.guarantee_open);
    for part in open.chunks(12) {
        let resolve = ix::guarantee_resolve_of(&w, &voter, &machine.node, part);
        println!("resolve of {}: {:?}", part.len(), attempt(&mut w, &[resolve], &[&voter.key]));
    }
    assert!(w.exists(&fault), "the guarantee cannot be resolved");
    w.warp(600);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    let before = worth(&w, &[&victim], &[]);
    let compensate = ix::slash_compensate(&w, &fault, &lease);
    println!("compensate {:?}", attempt(&mut w, &[compensate], &[]));

    worth(&w, &[&victim], &[fault]) - before
}

/// B6.
#[test]
fn sham_leases_do_not_stop_a_resolution() {
    let (alone, among) = (resolved(0, false), resolved(70, true));
    println!("the victim gets {alone} alone, {among} among sham leases");
    assert!(among * 10 >= alone * 9);
}
