//! A7 and C10: a guarantee is broken while the pay is kept from being counted.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Node};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction::{AccountMeta, Instruction};

use crate::sums::{attempt, usdc, worth};

/// Closes an empty token account of its owner.
fn close_account(at: &solana_address::Address, owner: &solana_address::Address) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*at, false),
        AccountMeta::new(*owner, false),
        AccountMeta::new_readonly(*owner, true),
    ];
    Instruction { program_id: gantry_market_tests::tokens::token_program(), accounts, data: vec![9] }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    NoGuarantee,
    Broken,
    /// The payout account is closed until all is resolved.
    Hidden,
    /// Receipts lie in the provider's pocket until then, and reports are not applied to the lease.
    Pocketed,
}

/// Twenty hours of one GPU, down in every tenth period. What the provider has after all is settled.
fn play(way: Way, hours: i64, pocket_only: bool) -> i64 {
    let mut w = Testbed::new();
    let voter = w.keeper(100_000_000_000);
    let provider = w.provider(10_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(1_000_000_000);
    let before = worth(&w, &[&provider], &[]);
    let until = w.now() + hours * 3_600 + 120;
    if way != Way::NoGuarantee {
        w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    }
    let args = OrderArgs { duration_secs: (hours * 3_600) as u32 + 40_000, ..ix::order_args(0) };
    let order = w.order(&customer, args);
    let lease = w.award(&voter, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    let nowhere = w.token_account(w.payment_mint, provider.wallet(), 0);
    if way == Way::Hidden {
        w.ok(ix::provider_set_payout(&provider, nowhere), &[&provider.key]);
        w.ok(close_account(&nowhere, &provider.wallet()), &[&provider.key]);
    }
    let (mut served, mut at) = (0u32, 0);
    while w.now() < until + 60 {
        let period = w.period();
        let down = if at % 10 == 9 { 18 } else { 0 };
        let up = 60 - down;
        let leaf = LeafData {
            up_secs: up,
            verified_secs: up,
            downtime_secs: down,
            ..w.good_leaf(machine.node, lease, period)
        };
        w.warp_past_period(period);
        let proofs = w.finalise(&voter, &[leaf]);
        if !pocket_only {
            w.ok(ix::report_apply(&proofs[0]), &[]);
        } else {
            let leaf = LeafData { lease: Default::default(), verified_secs: 0, downtime_secs: 0, ..leaf };
            let _ = leaf;
            w.ok(ix::report_apply(&proofs[0]), &[]);
        }
        served += up;
        at += 1;
        if way != Way::Pocketed && at % 30 == 0 {
            let settle = ix::lease_settle_report(&w, &lease);
            let outcome = attempt(&mut w, &[settle], &[]);
            if at == 30 {
                println!("settle: {outcome:?}");
            }
        }
    }
    if way != Way::NoGuarantee {
        let node: Node = w.read(&machine.node);
        w.set_now(node.guarantee_known_at().expect("fits") + 1);
        let fault = pda::guarantee_fault(&machine.node, node.guaranteed_until);
        let resolve = ix::guarantee_resolve_of(&w, &voter, &machine.node, &[lease]);
        println!("resolve: {:?}", attempt(&mut w, &[resolve], &[&voter.key]));
        if w.exists(&fault) {
            w.warp(1);
            let mut slash = ix::slash_apply(&w, &fault);
            if attempt(&mut w, &[slash.clone()], &[]).is_err() {
                w.warp(600);
                slash = ix::slash_apply(&w, &fault);
                println!("slash: {:?}", attempt(&mut w, &[slash], &[]));
            }
        }
    }
    if way == Way::Hidden {
        w.ok(ix::provider_set_payout(&provider, provider.payment), &[&provider.key]);
    }
    let settle = ix::lease_settle_report(&w, &lease);
    println!("last settle: {:?}", attempt(&mut w, &[settle], &[]));
    let state: Lease = w.read(&lease);
    println!("served {served}, paid {} s", state.paid_secs);
    worth(&w, &[&provider], &[]) - before
}

#[test]
fn pay_that_is_hidden_breaks_no_guarantee_for_less() {
    for hours in [2, 20] {
        let none = play(Way::NoGuarantee, hours, false);
        for way in [Way::Broken, Way::Hidden, Way::Pocketed] {
            let gain = play(way, hours, false);
            println!(
                "{hours} h: no guarantee {:.6}, broken {:.6}: {:.6}",
                usdc(none),
                usdc(gain),
                usdc(gain - none)
            );
            assert!(gain <= none, "breaking the guarantee pays {}", gain - none);
        }
    }
}
