//! Actions that block machines, stake or rent of others for a time.

use gantry_market::constants::RATING_SECS_PER_PAID;
use gantry_market::errors::MarketError;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Node, Params};
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, Actor, Testbed};

use super::super::money::{wealth, Usd};
use super::super::{disputes, griefing};
use super::Harm;

/// Finding P 11.
pub fn machines_are_held_by_a_job_that_none_of_them_runs() -> Harm {
    let row = griefing::a_job_that_no_machine_runs_holds_sixteen_of_them();
    let cost = Usd(-row.profit.0);
    Harm {
        source: "P 11",
        action: "A customer orders 16 machines of eight GPUs with a job that none of them runs, and holds them for five seconds",
        cost,
        worth: Usd(cost.0),
        harm: "640 GPU-seconds".to_owned(),
        bound: "the customer pays each second that it holds a machine, at the machine's price",
    }
}

/// Finding P 20. Customer and keeper have one owner.
pub fn machines_are_held_by_an_order_that_is_never_whole() -> Harm {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(7 * 80_000_000_000);
    let machines: Vec<_> = (0..7).map(|_| w.machine(&provider, 8)).collect();
    let customer = w.customer(1_000_000_000);
    let all: [&Actor; 2] = [&customer, &keeper];
    let before = wealth(&w, &all);
    let order =
        w.order(&customer, OrderArgs { nodes: 64, gpus_per_node: 8, duration_secs: 1, ..ix::order_args(1) });
    let leases: Vec<_> =
        machines.iter().map(|machine| w.award(&keeper, &customer, &order, &provider, machine)).collect();
    w.warp(37);
    w.refused(ix::order_expire(&customer, &order), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(ix::order_expire(&customer, &order), &[]);
    for (lease, machine) in leases.iter().zip(&machines) {
        w.ok(ix::lease_abort(&w, lease), &[]);
        let node: Node = w.read(&machine.node);
        assert_eq!((node.jobs_failed, node.fees_failed, node.gpu_mask), (0, 0, 0), "nobody is blamed");
    }
    let seconds = 7 * 8 * 38;
    Harm {
        source: "P 20",
        action: "A keeper awards seven of the 64 machines of its own customer's order. The order expires, and all of it begins \
                 anew",
        cost: Usd(before - wealth(&w, &all)),
        worth: Usd(i128::from(ASK * seconds / 3_600) * 1_000),
        harm: format!("{seconds} GPU-seconds each time"),
        bound: "half a minute from the first part, and a second for each; `award_deadline_secs` for all. Redundant orders have only \
                the latter. A customer that paid for it would pay for each keeper that stops half way, without a fault of its own",
    }
}

/// Finding R 15.
pub fn a_dispute_without_a_reason_holds_stake() -> Harm {
    let row = disputes::a_dispute_without_a_reason();
    Harm {
        source: "R 15",
        action: "A customer disputes a lease of 2 USDC that was served",
        cost: Usd(-row.profit.0),
        worth: Usd(0),
        harm: "what the fault could cost stays the provider's and is held until keepers have voted"
            .to_owned(),
        bound: "the deposit, of which the provider gets half",
    }
}

/// Finding P 25. Customer and provider have one owner.
pub fn a_lease_of_a_second_holds_the_rent_of_its_keeper() -> Harm {
    let mut w = Testbed::with(Params { rating_secs: 604_800, ..test_params() });
    let deal = w.running();
    let all: [&Actor; 2] = [&deal.customer, &deal.provider];
    let before = wealth(&w, &all);
    w.warp(1);
    w.settle(&deal, 1, 1);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let (rent, stranger) = (w.lamports(&deal.lease), w.actor());
    let close = ix::lease_close(&w, &stranger.wallet(), &deal.lease);
    w.warp(i64::from(RATING_SECS_PER_PAID) - 1);
    w.refused(close.clone(), &[&stranger.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(close, &[&stranger.key]);
    Harm {
        source: "P 25",
        action: "A provider's own customer rents it for a second, pays it, and rates nothing",
        cost: Usd(before - wealth(&w, &all)),
        worth: Usd(0),
        harm: format!(
            "{rent} lamports of the keeper are held for {RATING_SECS_PER_PAID} seconds and come back"
        ),
        bound: "the time to rate is a thousand times the time that was paid for, `rating_secs` at most",
    }
}
