//! Holders that vote for the worst that the program takes: an agreed lease goes on as if they had not.

use bytemuck::bytes_of;
use gantry_market::constants::MAX_WAIT_SECS;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Keeper, Lease, Node, Provider};
use gantry_market::ID;
use gantry_market_tests::dao::Dao;
use gantry_market_tests::hostile::entity::Held;
use gantry_market_tests::hostile::ledger::Ledger;
use gantry_market_tests::hostile::rules::of_state;
use gantry_market_tests::realm::{Proposal, TIMELOCK};
use gantry_market_tests::testbed::H100;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::{ix, Deal, Testbed};
use solana_account::ReadableAccount;

use crate::authority::worst;

/// The rules of state of the hostile sequences hold.
fn holds(w: &Testbed, deal: &Deal) {
    let mut ledger = Ledger::default();
    for (at, account) in &w.svm.accounts_db().inner {
        if *account.owner() == ID || (*account.owner() == token_program() && !account.executable()) {
            ledger.put(*at, Held::of(Some(account)));
        }
    }
    assert!(ledger.get::<Provider>(&deal.provider.provider()).is_some(), "the ledger is not empty");
    of_state(&ledger, w.now()).expect("every rule of state holds");
}

/// What a lease's people agreed, and what each has in the end.
#[derive(Debug, PartialEq)]
struct End {
    terms: [u64; 7],
    node: [u64; 3],
    paid: u64,
    back: u64,
    stake: u64,
    bond: u64,
}

/// Ten more minutes are worked and paid, the customer leaves, and takes out all that it has.
fn live_on(w: &mut Testbed, deal: &Deal) -> End {
    let customer = &deal.customer;
    let lease: Lease = w.read(&deal.lease);
    let node: Node = w.read(&deal.machine.node);
    let (paid, back) = (w.tokens(&deal.payout()), w.tokens(&customer.payment));
    holds(w, deal);
    w.warp(600);
    let worked = w.now() - lease.started_at;
    w.settle(deal, 1, worked as u32);
    holds(w, deal);
    w.ok(ix::lease_end(w, &customer.wallet(), &deal.lease, 0), &[&customer.key]);
    w.warp(i64::from(MAX_WAIT_SECS));
    w.ok(ix::lease_close(w, &customer.wallet(), &deal.lease), &[&customer.key]);
    holds(w, deal);
    let credits: Credits = w.read(&customer.credits());
    assert_eq!((credits.reserved, credits.live_leases), (0, 0));
    w.ok(ix::credits_withdraw(customer, credits.balance), &[&customer.key]);
    holds(w, deal);
    End {
        terms: [
            lease.price,
            u64::from(lease.fee_bps),
            u64::from(lease.notice_secs),
            u64::from(lease.rating_secs),
            u64::from(lease.settle_secs),
            u64::from(lease.slash_bad_work_bps),
            u64::from(lease.slash_offline_bps),
        ],
        node: [node.required_stake, u64::from(node.min_operations), u64::from(node.min_bandwidth)],
        paid: w.tokens(&deal.payout()) - paid,
        back: w.tokens(&customer.payment) - back,
        stake: w.read::<Provider>(&deal.provider.provider()).stake,
        bond: w.read::<Keeper>(&deal.keeper.keeper()).bond,
    }
}

/// The vote for all of it at once: parameters at their limits, a model that no machine meets, no guardian but the holders, and a pause.
fn vote_for_the_worst(w: &mut Testbed, dao: &mut Dao) -> Proposal {
    let model = ix::h100();
    let harsh =
        GpuModelArgs { min_stake: 2 * model.min_stake, min_operations: u32::MAX, min_tier: 1, ..model };
    let own = dao.realm.treasury;
    let transactions = vec![
        vec![dao.realm.own(w, ix::market_propose_params(w, worst(&w.params)))],
        vec![dao.realm.own(w, ix::gpu_model_propose(w, harsh))],
        vec![dao.realm.own(w, ix::market_propose_roles(w, own, w.treasury))],
        vec![ix::market_pause(&own, 3)],
    ];
    dao.passed(w, transactions)
}

#[test]
fn a_hostile_vote_harms_no_agreed_lease() {
    let (mut w, mut dao) = super::governed();
    let proposal = vote_for_the_worst(&mut w, &mut dao);
    for index in 0..3 {
        w.ok(dao.realm.execute(&proposal, index), &[]);
    }
    // The lease is agreed under today's terms and runs when the timelock ends.
    let due = w.now() + TIMELOCK;
    w.warp(TIMELOCK - 1_200);
    let deal = w.running_with(OrderArgs { duration_secs: 7_200, ..ix::order_args(1) });
    assert!(w.now() < due);
    w.set_now(due);
    let mut calm = w.fork();
    w.ok(ix::market_apply_params(), &[]);
    w.ok(ix::gpu_model_apply(H100), &[]);
    w.ok(ix::market_apply_roles(&w), &[]);
    w.ok(dao.realm.execute(&proposal, 3), &[]);
    let market = w.market();
    assert_eq!(market.paused, 3);
    assert_eq!(bytes_of(&market.params), bytes_of(&worst(&w.params)));
    w.params = market.params;
    assert_eq!(live_on(&mut w, &deal), live_on(&mut calm, &deal));
    // And it was the worst: nobody new can come in.
    let late = w.actor();
    assert!(w.send(&[ix::credits_deposit(&w, &late, 100_000_000)], &[&late.key]).is_ok());
    let order = ix::order_create(&late, ix::order_args(1));
    w.refused(order, &[&late.key], gantry_market::errors::MarketError::OrdersPaused);
}
