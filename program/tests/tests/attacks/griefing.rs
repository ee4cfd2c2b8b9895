//! Attacks that cost others more than they bring.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_OFFLINE};
use gantry_market::errors::MarketError;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Node, Provider, DECLINED_IMAGE, DECLINED_JOB, LEASE_RUNNING};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::{ix, pda, Actor, Testbed};

use super::money::{wealth, Usd};
use super::slashes::bad_leaf;
use super::{Row, NEW_RULE};

/// Finding A 3 of the attacks on the program: an order of a second whose job every machine declines.
pub fn a_job_that_no_machine_runs_holds_sixteen_of_them() -> Row {
    const NODES: u8 = 16;
    const HELD: u64 = 5;
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(NODES as u64 * 80_000_000_000);
    let machines: Vec<_> = (0..NODES).map(|_| w.machine(&provider, 8)).collect();
    let customer = w.customer(1_000_000_000);
    let all: [&Actor; 1] = [&customer];
    let before = wealth(&w, &all);
    let args = OrderArgs { nodes: NODES, gpus_per_node: 8, duration_secs: 1, ..ix::order_args(1) };
    let order = w.order(&customer, args);
    let leases: Vec<_> =
        machines.iter().map(|machine| w.award(&keeper, &customer, &order, &provider, machine)).collect();
    w.warp(HELD as i64);
    for (lease, machine) in leases.iter().zip(&machines) {
        w.ok(ix::lease_decline(&w, lease, DECLINED_JOB), &[&machine.key]);
        let node: Node = w.read(&machine.node);
        assert_eq!((node.gpu_mask, node.jobs_failed, node.fees_failed, node.absent.until), (0, 0, 0, 0));
    }
    // What the machines could have been paid meanwhile, rounded down for each.
    let harm = u64::from(NODES) * (ASK * 8 * HELD / 3_600);
    let profit = Usd(wealth(&w, &all) - before);
    assert_eq!(profit.0, -i128::from(harm) * 1_000, "holding costs what it harms");
    Row {
        source: "P 11",
        attack: "A customer orders 16 machines of eight GPUs for a second, with a job that none of them runs, and holds them for \
                 five seconds",
        instead: "nothing",
        before: "0: 121 s for nothing, and 14.4 USDC of failure in the record of each machine",
        profit,
        assumption: "",
    }
}

/// A provider's node declines every lease in the last second.
pub fn a_decoy_declines_all_that_it_is_awarded() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let own = w.provider(80_000_000_000);
    let decoy = w.machine(&own, 8);
    let customer = w.customer(1_000_000_000);
    let all: [&Actor; 2] = [&own, &keeper];
    let before = wealth(&w, &all);
    let charged = w.tokens(&customer.credits_vault());
    for nonce in 1..=3 {
        let order = w.order(&customer, OrderArgs { gpus_per_node: 8, ..ix::order_args(nonce) });
        let lease = w.award(&keeper, &customer, &order, &own, &decoy);
        w.warp(120);
        w.ok(ix::lease_decline(&w, &lease, DECLINED_IMAGE), &[&decoy.key]);
        w.ok(ix::order_reopen(&customer, &order), &[&customer.key]);
        let again = ix::order_award(&keeper, &customer, &order, &own.provider(), &decoy.node);
        w.refused(again, &[&keeper.key], MarketError::NodeDeclined);
    }
    assert!(charged > w.tokens(&customer.credits_vault()), "the customer has paid");
    Row {
        source: "P 11",
        attack: "A provider that awards its own node as a keeper declines every lease in the last second, to be paid for the \
                 time that its machine was held",
        instead: "nothing",
        before: NEW_RULE,
        profit: Usd(wealth(&w, &all) - before),
        assumption: "",
    }
}

/// Finding A 2: a node at a price of nearly nothing never starts.
pub fn a_decoy_never_starts_and_keepers_must_not_pass_it_over() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(10_000_000_000);
    let (honest, own) = (w.provider(80_000_000_000), w.provider(80_000_000_000));
    let works = w.machine_of(&honest, ix::spec(8), ASK);
    let decoy = w.machine_of(&own, ix::spec(8), 1);
    let (customer, finder) = (w.customer(1_000_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS + 1);
    let all: [&Actor; 2] = [&own, &finder];
    let before = wealth(&w, &all);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&keeper, &customer, &order, &own, &decoy);
    w.warp(121);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    // The same order, opened again, and the next one both go to the machine that works.
    w.ok(ix::order_reopen(&customer, &order), &[&customer.key]);
    let next = w.order(&customer, ix::order_args(2));
    for (order, refusal) in [(order, MarketError::NodeDeclined), (next, MarketError::NodeUnhealthy)] {
        let award = ix::order_award(&keeper, &customer, &order, &own.provider(), &decoy.node);
        w.refused(award, &[&keeper.key], refusal);
        w.award(&keeper, &customer, &order, &honest, &works);
        let lease = pda::lease(&order, &works.node);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&works.key]);
        let proof = ix::prove_better_ask(&w, &finder, &lease, &decoy.node);
        w.refused(proof, &[&finder.key], MarketError::NotBetter);
    }
    Row {
        source: "P 12",
        attack:
            "A node asks nearly nothing and never starts; its finder proves that a keeper has passed it over",
        instead: "nothing",
        before: "0: an order went to it 30 times in a row, and the keeper that passed it over lost 2 of 10",
        profit: Usd(wealth(&w, &all) - before),
        assumption: "",
    }
}

/// Finding A 1: a keeper with a bond of 10 and a decoy gives its own customer's orders to others' dear machines.
pub fn one_bond_reprices_sixty_leases() -> Row {
    const LEASES: u64 = 60;
    let play = |proves: bool| {
        let mut w = Testbed::new();
        let keeper = w.keeper(10_000_000_000);
        let (honest, own) = (w.provider(LEASES * 80_000_000_000), w.provider(80_000_000_000));
        let served: Vec<_> = (0..LEASES).map(|_| w.machine_of(&honest, ix::spec(8), 2_500_000)).collect();
        let decoy = w.machine_of(&own, ix::spec(8), 1);
        let customer = w.customer(LEASES * 24_000_000);
        w.warp(AWARD_VIEW_SECS + 1);
        let all = [&keeper, &own, &customer];
        let before = wealth(&w, &all);
        let leases: Vec<_> = (1..)
            .zip(&served)
            .map(|(nonce, machine)| {
                let order = w.order(&customer, OrderArgs { gpus_per_node: 8, ..ix::order_args(nonce) });
                let lease = w.award(&keeper, &customer, &order, &honest, machine);
                w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
                lease
            })
            .collect();
        // As late as an award can be contested, and nothing is paid before.
        w.warp(60);
        for (lease, machine) in leases.iter().zip(&served) {
            if proves {
                let proof = ix::prove_better_ask(&w, &customer, lease, &decoy.node);
                w.ok(proof, &[&customer.key]);
            }
            w.ok_all(&ix::receipt(&w, lease, &machine.key, &customer.key, 1, 60), &[]);
            let by = if proves { honest.wallet() } else { customer.wallet() };
            w.ok(ix::lease_end(&w, &by, lease, 0), &[&honest.key, &customer.key]);
        }
        w.warp_to_next_period();
        for lease in &leases {
            w.ok(ix::lease_close(&w, &customer.wallet(), lease), &[&customer.key]);
        }
        wealth(&w, &all) - before
    };
    Row {
        source: "P 2",
        attack: "A keeper with a bond of 10 awards 60 orders of its own customer, of eight GPUs each, to another's nodes. At the \
                 end of the time to contest an award it proves for each that its own node at nearly nothing was better",
        instead: "the customer pays",
        before: "+10.260000: what was served and not paid yet cost nothing",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// A customer makes its lease anew at the same address, after the machine was away during the first one.
pub fn a_leaf_about_an_earlier_lease_fails_the_new_one() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(90);
    w.settle(&deal, 1, 90);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let all = [&deal.keeper, &deal.customer];
    let (before, stake) = (wealth(&w, &all), w.read::<Provider>(&deal.provider.provider()).stake);
    let (period, close) = (w.period(), ix::lease_close(&w, &deal.customer.wallet(), &deal.lease));
    // In the same period its address stays taken.
    w.refused(close.clone(), &[&deal.customer.key], MarketError::TooEarly);
    w.warp_past_period(period);
    w.ok(close, &[&deal.customer.key]);
    let order = w.order(&deal.customer, ix::order_args(1));
    let lease = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    assert_eq!(lease, deal.lease);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&deal.machine.key]);
    let leaf = bad_leaf(&w, deal.machine.node, lease, period, FLAG_OFFLINE);
    let proof = w.finalise(&deal.keeper, &[LeafData { downtime_secs: 50, ..leaf }]).remove(0);
    let open = ix::fault_open(&w, &deal.keeper.wallet(), &proof);
    w.refused(open, &[&deal.keeper.key], MarketError::NoFault);
    w.ok(ix::report_apply(&proof), &[]);
    let new: Lease = w.read(&lease);
    assert_eq!((new.status, new.downtime_secs, new.pending_faults), (LEASE_RUNNING, 0, 0));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, stake);
    Row {
        source: "P 16",
        attack: "A customer whose machine was away closes the lease and makes it anew at the same address. Its keeper applies \
                 the report about the first one to the second",
        instead: "nothing",
        before: "the new lease failed, and 0.5 of stake was slashed",
        profit: Usd(wealth(&w, &all) - before),
        assumption: "",
    }
}
