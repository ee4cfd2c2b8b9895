use gantry_market::errors::MarketError;
use gantry_market::events::LeaseStarted;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Order, LEASE_RUNNING, ORDER_LAPSED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn time_begins_to_count() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(30);
    let meta = w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.started_at), (LEASE_RUNNING, w.now()));
    assert_eq!((lease.funded_until, lease.connection_hash), (w.now() + 3_600, [3; 32]));
    assert_eq!((lease.last_report_period, lease.report_window), (w.period() - 1, u32::MAX));
    assert_eq!((lease.ended_at, lease.paid_secs, lease.reserved), (0, 0, 2_000_000));
    assert_emitted(
        &meta,
        &LeaseStarted {
            lease: deal.lease,
            started_at: w.now(),
            funded_until: w.now() + 3_600,
            connection_hash: [3; 32],
        },
    );
    let again = ix::lease_start(&w, &deal.lease, [4; 32]);
    w.refused(again, &[&deal.machine.key], MarketError::WrongLeaseStatus);
}

#[test]
fn until_the_deadline_and_not_after() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let start = ix::lease_start(&w, &deal.lease, [3; 32]);
    w.warp(121);
    w.refused(start.clone(), &[&deal.machine.key], MarketError::TooLate);
    w.warp(-1);
    w.ok(start, &[&deal.machine.key]);
}

#[test]
fn all_nodes_of_an_order_or_none() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let (first, second) = (w.machine(&provider, 1), w.machine(&provider, 1));
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &first);
    let start = ix::lease_start(&w, &lease, [3; 32]);
    w.refused(start.clone(), &[&first.key], MarketError::WrongOrderStatus);
    w.warp(30);
    let other = w.award(&keeper, &customer, &order, &provider, &second);
    w.warp(120);
    w.ok(start, &[&first.key]);
    // The other misses its start. That is no reason to stop the first.
    w.warp(1);
    w.ok(ix::lease_abort(&w, &other), &[]);
    assert_eq!(w.read::<Order>(&order).status, ORDER_LAPSED);
    assert_eq!(w.read::<Lease>(&lease).status, LEASE_RUNNING);
}

#[test]
fn a_node_may_start_though_another_of_the_order_did_not() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.alter(&deal.order, |o: &mut Order| o.status = ORDER_LAPSED);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
}

#[test]
fn an_expired_order_starts_nothing() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &machine);
    w.warp(61);
    w.ok(ix::order_expire(&customer, &order), &[]);
    let start = ix::lease_start(&w, &lease, [3; 32]);
    w.refused(start, &[&machine.key], MarketError::WrongOrderStatus);
}

#[test]
fn a_paused_market_still_starts_what_it_awarded() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.pause();
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let other_order = w.order(&deal.customer, ix::order_args(2));
    let key = deal.machine.key.pubkey();
    let good = ix::lease_start(&w, &deal.lease, [3; 32]);
    w.refused(unsigned(good.clone(), &key), &[], InstructionError::MissingRequiredSignature);
    let by_owner = swap(good.clone(), &key, &deal.provider.wallet());
    w.refused(by_owner, &[&deal.provider.key], MarketError::Unauthorised);
    let by_customer = swap(good.clone(), &key, &deal.customer.wallet());
    w.refused(by_customer, &[&deal.customer.key], MarketError::Unauthorised);
    let (market, order, lease) = (w.forged(&pda::market()), w.forged(&deal.order), w.forged(&deal.lease));
    let twin = w.twin(&deal.order);
    let cases = [
        ("market", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("order", deal.order, other_order, MarketError::WrongAccount.into()),
        ("order's address", deal.order, twin, MarketError::WrongAccount.into()),
        ("order's program", deal.order, order, InstructionError::IllegalOwner.into()),
        ("lease's program", deal.lease, lease, InstructionError::IllegalOwner.into()),
        (
            "lease's type",
            deal.lease,
            pda::provider(&deal.provider.wallet()),
            InstructionError::AccountDataTooSmall.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&deal.machine.key], &cases);
}
