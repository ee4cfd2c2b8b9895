//! A1: one bond pays for the fall in price of any number of leases.

use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Requirement};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_signer::Signer;

use crate::sums::{attempt, report, served, usdc, worth};

const BOND: u64 = 10_000_000_000;
const GPUS: u8 = 8;
/// Seconds from the awards to the proofs, which may come within a minute.
const PROVEN_AFTER: i64 = 40;

/// How it is played.
#[derive(Clone, Copy)]
struct Plan {
    leases: usize,
    /// Whether the finder proves the awards to be unjust.
    proves: bool,
    /// Seconds that providers serve on after the proofs.
    lingers: i64,
    /// The customer creates and the keeper awards in one transaction, or not.
    apart: bool,
}

struct Outcome {
    owner: i64,
    providers: i64,
    proven: usize,
    awarded: usize,
}

fn play(plan: Plan) -> Outcome {
    let mut w = Testbed::new();
    w.model(GpuModelArgs { id: 2, ..ix::h100() });
    let voter = w.keeper(100_000_000_000);
    let keeper = w.keeper(BOND);
    let honest = w.provider(80_000_000_000 * plan.leases as u64);
    let machines: Vec<Machine> = (0..plan.leases).map(|_| w.machine(&honest, GPUS)).collect();
    let decoys = w.provider(80_000_000_000);
    let decoy = w.machine_of(&decoys, gantry_market::state::NodeSpec { model: 2, ..ix::spec(GPUS) }, 1);
    let customer = w.customer(500_000_000_000);
    let finder = w.actor();
    let owner: [&Actor; 4] = [&customer, &keeper, &decoys, &finder];
    let before = (worth(&w, &owner, &[]), worth(&w, &[&honest], &[]));
    w.warp(120);
    w.warp_to_next_period();
    let mut leases = vec![];
    for (at, machine) in machines.iter().enumerate() {
        let any = Requirement { models: ix::models(&[]), min_tflops_x10: 1, ..ix::order_args(0).requirement };
        let args = OrderArgs {
            gpus_per_node: GPUS,
            duration_secs: 7_200,
            requirement: any,
            ..ix::order_args(at as u64)
        };
        let create = ix::order_create(&customer, args);
        let order = pda::order(&customer.wallet(), args.nonce);
        let award = ix::order_award(&keeper, &customer, &order, &honest.provider(), &machine.node);
        let keys = [&customer.key, keeper.signing()];
        let done = if plan.apart {
            attempt(&mut w, &[create], &keys).and_then(|()| attempt(&mut w, &[award], &keys))
        } else {
            attempt(&mut w, &[create, award], &keys)
        };
        if let Err(code) = done {
            println!("award {at}: {code:?}");
            break;
        }
        let lease = pda::lease(&order, &machine.node);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        leases.push((lease, machine));
    }
    let awarded = leases.len();
    w.warp(PROVEN_AFTER);
    let mut proven = 0;
    for (lease, _) in leases.iter().filter(|_| plan.proves) {
        let proof = ix::prove_better_ask(&w, &finder, lease, &decoy.node);
        match attempt(&mut w, &[proof], &[&finder.key]) {
            Ok(()) => proven += 1,
            Err(code) => println!("proof: {code:?}"),
        }
    }
    let period = w.period();
    w.warp(plan.lingers.min(20));
    let mut first = vec![];
    for (lease, machine) in &leases {
        first.push(served(&w, machine.node, *lease, period, (PROVEN_AFTER + plan.lingers.min(20)) as u32));
    }
    if plan.lingers <= 20 {
        for (lease, machine) in &leases {
            let (who, key, now) = if plan.proves {
                (machine.key.pubkey(), &machine.key, 1)
            } else {
                (customer.wallet(), &customer.key, 0)
            };
            w.ok(ix::lease_end(&w, &who, lease, now), &[key]);
        }
    }
    report(&mut w, &voter, &first);
    let mut left = if plan.lingers > 20 { plan.lingers } else { 0 };
    while left > 0 {
        let period = w.period();
        let leaves: Vec<_> =
            leases.iter().map(|(lease, machine)| served(&w, machine.node, *lease, period, 60)).collect();
        report(&mut w, &voter, &leaves);
        left -= 60;
    }
    for (lease, _) in &leases {
        if w.read::<Lease>(lease).ended_at == 0 {
            w.ok(ix::lease_end(&w, &customer.wallet(), lease, 0), &[&customer.key]);
        }
    }
    w.warp(600);
    for (lease, _) in &leases {
        w.ok(ix::lease_close(&w, &customer.wallet(), lease), &[&customer.key]);
    }
    let after = (worth(&w, &owner, &[keeper.keeper()]), worth(&w, &[&honest], &[]));
    Outcome { owner: after.0 - before.0, providers: after.1 - before.1, proven, awarded }
}

/// The most that the owner gains by the proofs, and providers lose by them, µUSDC.
fn compare(plan: Plan) -> (i64, i64) {
    let attack = play(plan);
    let honest = play(Plan { leases: attack.awarded, proves: false, ..plan });
    assert_eq!(attack.awarded, honest.awarded, "an honest owner gets the same leases");
    let (profit, harm) = (attack.owner - honest.owner, honest.providers - attack.providers);
    println!(
        "{} leases awarded, {} proven, {} s more: owner {:.6} (honest {:.6}), providers {:.6} (honest {:.6}): profit {:.6}, harm {:.6}",
        attack.awarded,
        attack.proven,
        plan.lingers,
        usdc(attack.owner),
        usdc(honest.owner),
        usdc(attack.providers),
        usdc(honest.providers),
        usdc(profit),
        usdc(harm)
    );
    (profit, harm)
}

/// Providers end their leases when the price falls, as agents do.
#[test]
fn one_bond_does_not_pay_for_many_leases() {
    for leases in [1, 5, 60, 120] {
        for lingers in [0, 5] {
            let (profit, harm) = compare(Plan { leases, proves: true, lingers, apart: false });
            assert!(profit <= 0, "the owner gains {profit}");
            assert!(harm <= -profit, "harm {harm} for a cost of {}", -profit);
        }
    }
}

/// The same in two transactions, and in leases that nobody leaves: what the bond bounds is then time, at 8 GPUs about 2,100
/// seconds of all leases together for each ten tokens of the bond.
#[test]
#[ignore = "P 2 is open where providers ignore that the price fell: 30 leases of 8 GPUs for a minute; agents end such leases"]
fn nor_where_providers_linger_for_a_minute() {
    for (leases, lingers) in [(5, 60), (5, 300), (30, 60)] {
        let (profit, harm) = compare(Plan { leases, proves: true, lingers, apart: true });
        assert!(profit <= 0, "the owner gains {profit}, others lose {harm}");
    }
}
