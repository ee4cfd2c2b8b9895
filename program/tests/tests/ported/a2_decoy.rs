//! A2 and P 12: a node that asks nearly nothing and never starts.

use gantry_market::state::{Node, NODE_ACTIVE};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;

use crate::sums::{attempt, worth};

/// Long enough to see rows grow.
const WATCHED: i64 = 6 * 3_600;

struct World {
    w: Testbed,
    keeper: Actor,
    decoys: Actor,
    decoy: Vec<Machine>,
    honest: Actor,
    machine: Machine,
    customer: Actor,
    finder: Actor,
}

fn world(decoys: usize) -> World {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let owner = w.provider(80_000_000_000 * decoys as u64);
    let decoy = (0..decoys).map(|_| w.machine_of(&owner, ix::spec(8), 1)).collect();
    let honest = w.provider(80_000_000_000);
    let machine = w.machine(&honest, 8);
    let customer = w.customer(100_000_000_000);
    let finder = w.actor();
    w.warp(60);
    World { w, keeper, decoys: owner, decoy, honest, machine, customer, finder }
}

/// How an honest keeper serves one order: the cheapest node that the program lets it choose. Returns the seconds that the
/// order waited for a node that starts, how often it was given to a decoy, and the lease that runs.
fn serve(it: &mut World, nonce: u64) -> (i64, usize, Address) {
    let begin = it.w.now();
    let order = it.w.order(&it.customer, ix::order_args(nonce));
    let mut given = 0;
    'order: loop {
        for at in 0..it.decoy.len() {
            let award =
                ix::order_award(&it.keeper, &it.customer, &order, &it.decoys.provider(), &it.decoy[at].node);
            if attempt(&mut it.w, &[award], &[it.keeper.signing()]).is_err() {
                continue;
            }
            given += 1;
            let lease = pda::lease(&order, &it.decoy[at].node);
            let start = i64::from(it.w.params.start_deadline_secs);
            it.w.warp(start + 1);
            let abort = ix::lease_abort(&it.w, &lease);
            it.w.ok(abort, &[]);
            if !it.w.exists(&order) {
                return (it.w.now() - begin, given, lease);
            }
            let again = ix::order_reopen(&it.customer, &order);
            match attempt(&mut it.w, &[again], &[&it.customer.key]) {
                Ok(()) => continue 'order,
                Err(code) => {
                    println!("reopen: {code:?}");
                    return (it.w.now() - begin, given, lease);
                }
            }
        }
        let award =
            ix::order_award(&it.keeper, &it.customer, &order, &it.honest.provider(), &it.machine.node);
        it.w.ok(award, &[it.keeper.signing()]);
        let lease = pda::lease(&order, &it.machine.node);
        return (it.w.now() - begin, given, lease);
    }
}

/// One decoy, orders all day long.
#[test]
fn a_decoy_does_not_take_every_order() {
    let mut it = world(1);
    let before = worth(&it.w, &[&it.decoys], &[]);
    let end = it.w.now() + WATCHED;
    let (mut orders, mut waited, mut given, mut nonce) = (0, 0, 0, 0);
    while it.w.now() < end {
        let (seconds, times, lease) = serve(&mut it, nonce);
        if nonce == 0 {
            println!("the first order waited {seconds} s, {times} times with the decoy");
            assert!(times <= 1, "one order goes to the decoy again");
        }
        // The keeper that passed the decoy over cannot be shown to be unjust.
        if it.w.exists(&lease) && times > 0 {
            let proof = ix::prove_better_ask(&it.w, &it.finder, &lease, &it.decoy[0].node);
            let outcome = attempt(&mut it.w, &[proof], &[&it.finder.key]);
            assert!(outcome.is_err(), "the keeper is slashed for passing the decoy over");
        }
        if it.w.exists(&lease) {
            start_and_end(&mut it, &lease);
        }
        it.w.warp(301);
        orders += 1;
        waited += seconds;
        given += times;
        nonce += 1;
    }
    let node: Node = it.w.read(&it.decoy[0].node);
    let cost = before - worth(&it.w, &[&it.decoys], &[]);
    println!(
        "{orders} orders, {given} of them once with the decoy, {waited} s waited, missed {}, owner's cost {cost}, slashed {}",
        node.missed,
        it.w.read::<gantry_market::state::Provider>(&it.decoys.provider()).slashed_total
    );
    assert!(given <= 8, "holds double");
}

/// Many decoys: one order meets them one after another.
#[test]
fn many_decoys_delay_one_order() {
    for decoys in [2, 6, 10] {
        let mut it = world(decoys);
        let before = worth(&it.w, &[&it.decoys], &[]);
        let (seconds, times, _) = serve(&mut it, 0);
        let cost = before - worth(&it.w, &[&it.decoys], &[]);
        println!("{decoys} decoys: one order waited {seconds} s through {times} of them, cost {cost}");
    }
}

/// A lease that paid ends the row: while it is on hold the owner makes its decoy dear, rents it for a second by its own
/// keeper and customer, and makes it cheap again.
#[test]
fn a_row_is_not_reset_for_a_grain() {
    let mut it = world(1);
    let own = it.w.keeper(1_000_000_000);
    let shill = it.w.customer(100_000_000);
    let owner = [&it.decoys.again(), &own, &shill];
    let before = worth(&it.w, &owner, &[]);
    let end = it.w.now() + WATCHED;
    let (mut given, mut waited, mut nonce, mut resets) = (0, 0, 0, 0);
    while it.w.now() < end {
        let (seconds, times, lease) = serve(&mut it, nonce);
        (given, waited, nonce) = (given + times, waited + seconds, nonce + 1);
        if it.w.exists(&lease) {
            start_and_end(&mut it, &lease);
        }
        set_price(&mut it, 2_900_000);
        let held = it.w.now();
        loop {
            it.w.warp(30);
            let order = it.w.order(&shill, ix::order_args(1_000_000 + nonce));
            let decoy = &it.decoy[0];
            let award = ix::order_award(&own, &shill, &order, &it.decoys.provider(), &decoy.node);
            if attempt(&mut it.w, &[award], &[own.signing()]).is_err() {
                it.w.ok(ix::order_cancel(&shill, &order), &[&shill.key]);
                nonce += 1;
                continue;
            }
            let lease = pda::lease(&order, &decoy.node);
            it.w.ok(ix::lease_start(&it.w, &lease, [3; 32]), &[&decoy.key]);
            it.w.warp(1);
            let paid = ix::receipt(&it.w, &lease, &decoy.key, &shill.key, 1, 1);
            it.w.ok_all(&paid, &[]);
            let over = ix::lease_end(&it.w, &shill.wallet(), &lease, 0);
            it.w.ok(over, &[&shill.key]);
            it.w.warp(60);
            let close = ix::lease_close(&it.w, &shill.wallet(), &lease);
            it.w.ok(close, &[&shill.key]);
            break;
        }
        resets += 1;
        let node: Node = it.w.read(&it.decoy[0].node);
        if resets < 8 {
            println!("held {} s, missed {} after the rent", it.w.now() - held, node.missed);
        }
        set_price(&mut it, 1);
        it.w.warp(40);
    }
    let cost = before - worth(&it.w, &owner, &[]);
    println!("rows reset: {given} orders with the decoy, {waited} s waited, cost {cost} µUSDC");
    assert!(given <= 8, "a row is reset for {cost} µUSDC, {given} orders waited {waited} s");
}

fn set_price(it: &mut World, price: u64) {
    let update =
        ix::node_update(&it.decoys.wallet(), &it.decoys.provider(), &it.decoy[0].node, price, NODE_ACTIVE);
    it.w.ok(update, &[&it.decoys.key]);
}

fn start_and_end(it: &mut World, lease: &Address) {
    let start = ix::lease_start(&it.w, lease, [3; 32]);
    it.w.ok(start, &[&it.machine.key]);
    let over = ix::lease_end(&it.w, &it.customer.wallet(), lease, 0);
    it.w.ok(over, &[&it.customer.key]);
}
