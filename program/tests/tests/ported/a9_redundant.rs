//! A9: half of a redundant job's nodes are the customer's own and make the others' work free.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market_tests::{ix, Actor, Machine, Testbed};
use solana_signer::Signer;

use crate::sums::{attempt, usdc, worth};

fn args(nonce: u64, nodes: u8) -> OrderArgs {
    OrderArgs {
        nodes,
        run_to_completion: 1,
        redundant: 1,
        no_migration: 1,
        duration_secs: 3_600,
        ..ix::order_args(nonce)
    }
}

#[test]
fn an_even_number_is_refused() {
    let mut w = Testbed::new();
    let customer = w.customer(1_000_000_000);
    for nodes in [2, 4, 6] {
        let create = ix::order_create(&customer, args(nodes.into(), nodes));
        let outcome = attempt(&mut w, &[create], &[&customer.key]);
        println!("{nodes} nodes: {outcome:?}");
        assert!(outcome.is_err());
    }
}

/// Draws that do not suit are dropped by the customer: how long after the creation it may, and what else ends an order.
#[test]
fn a_draw_cannot_be_dropped() {
    for wait in [0, 1, 2, 10, 59] {
        let mut w = Testbed::new();
        let customer = w.customer(1_000_000_000);
        let order = w.order(&customer, args(0, 3));
        w.warp(wait);
        let cancel = ix::order_cancel(&customer, &order);
        let cancelled = attempt(&mut w, &[cancel], &[&customer.key]);
        let expire = ix::order_expire(&customer, &order);
        let expired = attempt(&mut w, &[expire], &[]);
        println!("after {wait} s: cancel {cancelled:?}, expire {expired:?}");
        if wait >= 2 {
            assert!(cancelled.is_err() && expired.is_err());
        }
    }
}

/// `own` of `nodes` are the customer's own, of as many providers, awarded by its own keeper: each of them shows another
/// output. Returns what the owner and the honest have gained.
fn play(nodes: u8, own: u8, cheat: bool, work: i64) -> (i64, i64) {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let customer = w.customer(1_000_000_000);
    let providers: Vec<Actor> = (0..nodes).map(|_| w.provider(20_000_000_000)).collect();
    let machines: Vec<Machine> = providers.iter().map(|provider| w.machine(provider, 1)).collect();
    let order = w.order(&customer, args(0, nodes));
    let (mine, honest) = providers.split_at(own as usize);
    let owner: Vec<&Actor> = mine.iter().chain([&keeper, &customer]).collect();
    let honest: Vec<&Actor> = honest.iter().collect();
    let before = (worth(&w, &owner, &[]), worth(&w, &honest, &[]));
    let leases: Vec<_> = providers
        .iter()
        .zip(&machines)
        .map(|(provider, machine)| w.award(&keeper, &customer, &order, provider, machine))
        .collect();
    for (lease, machine) in leases.iter().zip(&machines) {
        w.ok(ix::lease_start(&w, lease, [3; 32]), &[&machine.key]);
    }
    w.warp(work);
    let output = |at: usize| if cheat && at < own as usize { [10 + at as u8; 32] } else { [4; 32] };
    for (at, (lease, machine)) in leases.iter().zip(&machines).enumerate() {
        let receipt = ix::receipt(&w, lease, &machine.key, &customer.key, 1, work as u32);
        let _ = attempt(&mut w, &receipt, &[]);
        let commitment = ix::output_commitment(lease, &output(at), &[at as u8; 32]);
        w.ok(ix::output_commit(&w, lease, commitment), &[&machine.key]);
        let end = ix::lease_end(&w, &machine.key.pubkey(), lease, 0);
        w.ok(end, &[&machine.key]);
    }
    for (at, (lease, machine)) in leases.iter().zip(&machines).enumerate() {
        let reveal = ix::output_reveal(&w, lease, output(at), [at as u8; 32]);
        w.ok(reveal, &[&machine.key]);
    }
    w.ok(ix::output_resolve(&order, &leases), &[]);
    for lease in &leases {
        let settle = ix::lease_settle_report(&w, lease);
        println!("settle: {:?}", attempt(&mut w, &[settle], &[]));
    }
    w.warp(4_000);
    for lease in &leases {
        let close = ix::lease_close(&w, &customer.wallet(), lease);
        if let Err(code) = attempt(&mut w, &[close], &[&customer.key]) {
            println!("close: {code:?}");
        }
    }
    let after = (worth(&w, &owner, &[]), worth(&w, &honest, &[]));
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn others_work_is_not_free() {
    for (nodes, own) in [(3, 1), (5, 2), (7, 3)] {
        let (honest, attack) = (play(nodes, own, false, 3_000), play(nodes, own, true, 3_000));
        println!(
            "{own} of {nodes} own: owner {:.6} (honest {:.6}), others {:.6} (honest {:.6})",
            usdc(attack.0),
            usdc(honest.0),
            usdc(attack.1),
            usdc(honest.1)
        );
        // What it saves is the fee of its own lease, which an honest owner of a node need not order.
        let fees = i64::from(own) * 2_000_000 * 3_000 / 3_600 * 12 / 100;
        assert!(attack.0 <= honest.0 + fees, "the owner gains {}", attack.0 - honest.0);
        assert!(attack.1 >= honest.1, "others lose {}", honest.1 - attack.1);
    }
}

/// A keeper of the customer's own fills the majority: the program does not check the draw. The customer still
/// pays for the work of the third.
#[test]
fn a_majority_of_ones_own() {
    let (honest, attack) = (play(3, 2, false, 3_000), play(3, 2, true, 3_000));
    println!(
        "2 of 3 own: owner {:.6} (honest {:.6}), other {:.6} (honest {:.6})",
        usdc(attack.0),
        usdc(honest.0),
        usdc(attack.1),
        usdc(honest.1)
    );
    assert!(attack.0 <= honest.0, "the owner gains {}", attack.0 - honest.0);
}
