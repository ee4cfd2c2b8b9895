//! B4, B5, B7: parts of orders that hold GPUs, wrong bars, and keepers' lamports.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::Params;
use gantry_market_tests::ix::Bid;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;

use crate::sums::{attempt, usdc, worth};

/// Seven of the sixty-four nodes that an order wants are awarded, again and again.
#[test]
#[ignore = "the rest of P 20 is open: each order holds 56 GPUs of others for 38 s"]
fn a_part_of_an_order_does_not_hold_gpus_for_nothing() {
    let mut w = Testbed::new();
    let own = w.keeper(10_000_000_000);
    let others: Vec<Actor> = (0..7).map(|_| w.provider(80_000_000_000)).collect();
    let machines: Vec<Machine> = others.iter().map(|provider| w.machine(provider, 8)).collect();
    let customer = w.customer(100_000_000_000);
    w.warp(60);
    let owner = [&own, &customer];
    let before = worth(&w, &owner, &[]);
    let (begin, mut held) = (w.now(), 0);
    for nonce in 0..10 {
        let args = OrderArgs { nodes: 64, gpus_per_node: 8, duration_secs: 1, ..ix::order_args(nonce) };
        let order = w.order(&customer, args);
        let mut leases: Vec<Address> = vec![];
        for (provider, machine) in others.iter().zip(&machines) {
            let award = ix::order_award(&own, &customer, &order, &provider.provider(), &machine.node);
            match attempt(&mut w, &[award], &[own.signing()]) {
                Ok(()) => leases.push(pda::lease(&order, &machine.node)),
                Err(code) => {
                    println!("award {nonce}: {code:?}");
                    break;
                }
            }
        }
        let since = w.now();
        // As soon as anyone may, the others free their machines.
        for _ in 0..200 {
            w.warp(1);
            let expire = ix::order_expire(&customer, &order);
            let _ = attempt(&mut w, &[expire], &[]);
            leases.retain(|lease| {
                let abort = ix::lease_abort(&w, lease);
                attempt(&mut w, &[abort], &[]).is_err()
            });
            if leases.is_empty() {
                break;
            }
        }
        held += w.now() - since;
        if nonce == 0 {
            println!("the first was held for {} s", w.now() - since);
        }
    }
    let cost = before - worth(&w, &owner, &[]);
    let fair = held * 56 * ASK as i64 / 3_600;
    let failed: u32 =
        machines.iter().map(|m| w.read::<gantry_market::state::Node>(&m.node).jobs_failed).sum();
    println!(
        "56 GPUs held for {held} of {} s, worth {:.4}, cost {:.4}, {failed} failed",
        w.now() - begin,
        usdc(fair),
        usdc(cost)
    );
    assert_eq!(failed, 0, "nobody is blamed");
    assert!(cost * 2 >= fair, "harm {fair} for {cost}");
}

/// A sealed order over two nodes: the first award names a worse bar than there is.
#[test]
fn a_wrong_bar_stops_nobody() {
    for honest_bar in [true, false] {
        let mut w = Testbed::new();
        let bad = w.keeper(10_000_000_000);
        let good = w.keeper(10_000_000_000);
        let providers: Vec<Actor> = (0..4).map(|_| w.provider(20_000_000_000)).collect();
        let machines: Vec<Machine> = providers.iter().map(|provider| w.machine(provider, 1)).collect();
        let customer = w.customer(100_000_000);
        w.warp(60);
        let order = w.order(&customer, OrderArgs { nodes: 2, ..ix::sealed_args(1) });
        w.ok(ix::auction_open(&customer, &order, 10, 10), &[&customer.key]);
        let bid = |at: usize| Bid {
            machine: &machines[at],
            price: 1_000_000 + at as u64 * 100_000,
            salt: [at as u8; 32],
        };
        w.warp(21);
        // Bids 0 and 1 win and 2 is the bar; the bad keeper names 1.
        let bar = if honest_bar { 2 } else { 1 };
        let first = ix::sealed_award(&w, &bad, &order, bid(0), Some(bid(bar)));
        println!("first with bar {bar}: {:?}", attempt(&mut w, &first, &[bad.signing()]));
        let mut window = vec![];
        for wait in 0..90 {
            let completes = [2, 3].into_iter().any(|loser| {
                let mut copy = w.fork();
                let second = ix::sealed_award(&copy, &good, &order, bid(1), Some(bid(loser)));
                attempt(&mut copy, &second, &[good.signing()]).is_ok()
            });
            let mut copy = w.fork();
            let expire = ix::order_expire(&customer, &order);
            let expires = attempt(&mut copy, &[expire], &[]).is_ok();
            if completes || expires {
                window.push((wait, completes, expires));
            }
            w.warp(1);
        }
        let first =
            window.iter().find(|(_, completes, _)| *completes).expect("nobody can complete the order").0;
        let last = window.iter().rev().find(|(_, completes, _)| *completes).expect("as before").0;
        let expires = window.iter().find(|(.., expires)| *expires).map(|(at, ..)| *at);
        println!("another keeper completes from {first} s to {last} s, anyone may expire from {expires:?} s");
        assert!(last - first >= 5, "another keeper has {} s to complete it", last - first);
    }
}

/// Ten orders over sixteen own nodes that pay a second each: what of the keeper's is held, for how long.
#[test]
fn leases_of_a_second_do_not_hold_a_keepers_rent() {
    let mut w = Testbed::with(Params { rating_secs: 86_400, ..test_params() });
    let keeper = w.keeper(10_000_000_000);
    let own = w.provider(1_000_000_000_000);
    let machines: Vec<Machine> = (0..16).map(|_| w.machine(&own, 1)).collect();
    let customer = w.customer(1_000_000_000);
    w.warp(60);
    let owner = [&own, &customer];
    let (before, rent, spent) =
        (worth(&w, &owner, &[]), w.lamports(&keeper.wallet()), w.lamports(&customer.wallet()));
    let mut all = vec![];
    for nonce in 0..10 {
        let order = w.order(&customer, OrderArgs { nodes: 16, ..ix::order_args(nonce) });
        let leases: Vec<Address> =
            machines.iter().map(|machine| w.award(&keeper, &customer, &order, &own, machine)).collect();
        for (lease, machine) in leases.iter().zip(&machines) {
            w.ok(ix::lease_start(&w, lease, [3; 32]), &[&machine.key]);
        }
        w.warp(1);
        for (lease, machine) in leases.iter().zip(&machines) {
            let receipt = ix::receipt(&w, lease, &machine.key, &customer.key, 1, 1);
            w.ok_all(&receipt, &[]);
            w.ok(ix::lease_end(&w, &customer.wallet(), lease, 0), &[&customer.key]);
        }
        all.extend(leases);
    }
    let held = rent - w.lamports(&keeper.wallet());
    let since = w.now();
    while !all.is_empty() && w.now() < since + 20_000 {
        w.warp(100);
        all.retain(|lease| {
            let close = ix::lease_close(&w, &keeper.wallet(), lease);
            attempt(&mut w, &[close], &[&keeper.key]).is_err()
        });
    }
    let cost = before - worth(&w, &owner, &[]);
    println!(
        "{:.3} SOL of the keeper held for {} s, {:.3} of the customer's, rating {} s, cost {:.6} USDC",
        held as f64 / 1e9,
        w.now() - since,
        (spent - w.lamports(&customer.wallet())) as f64 / 1e9,
        w.params.rating_secs,
        usdc(cost)
    );
    assert!(w.now() - since <= 1_200, "a second gives {} s to rate", w.now() - since);
}
