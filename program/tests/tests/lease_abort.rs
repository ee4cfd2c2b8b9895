use gantry_market::constants::DAY;
use gantry_market::errors::MarketError;
use gantry_market::events::LeaseAborted;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Node, Order, Provider, ORDER_EXPIRED, ORDER_LAPSED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn a_node_that_did_not_start_gives_everything_back() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let lease_rent = w.lamports(&deal.lease);
    let before = w.lamports(&deal.keeper.wallet());
    w.warp(121);
    let meta = w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    assert_emitted(&meta, &LeaseAborted { lease: deal.lease, released: 2_000_000, node_failed: 1 });
    assert!(!w.exists(&deal.lease));
    assert_eq!(w.lamports(&deal.keeper.wallet()), before + lease_rent);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000, 0));
    assert_eq!((credits.live_leases, credits.live_orders), (0, 1));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.gpu_mask, node.live_leases, node.jobs_failed), (0, 0, 1));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).live_leases, 0);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.live_leases, order.nodes_awarded), (ORDER_LAPSED, 0, 0));
    assert_eq!(order.award_deadline, w.now() + 60, "time for the customer");
    // Nobody awards it again.
    let award = ix::order_award(
        &deal.keeper,
        &deal.customer,
        &deal.order,
        &deal.provider.provider(),
        &deal.machine.node,
    );
    w.refused(award, &[&deal.keeper.key], MarketError::WrongOrderStatus);
}

#[test]
fn not_before_the_start_deadline_and_once_only() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let abort = ix::lease_abort(&w, &deal.lease);
    w.warp(120);
    w.refused(abort.clone(), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(abort.clone(), &[]);
    w.refused(abort, &[], InstructionError::AccountDataTooSmall);
    assert_eq!(w.read::<Node>(&deal.machine.node).jobs_failed, 1);
}

#[test]
fn not_once_it_runs_or_is_over() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(121);
    w.refused(ix::lease_abort(&w, &deal.lease), &[], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.refused(ix::lease_abort(&w, &deal.lease), &[], MarketError::WrongLeaseStatus);
}

#[test]
fn a_part_of_an_order_waits_for_its_expiry_and_is_not_to_blame() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let (first, second) = (w.machine(&provider, 1), w.machine(&provider, 1));
    let customer = w.customer(100_000_000);
    let (customers, keepers) = (w.lamports(&customer.wallet()), w.lamports(&keeper.wallet()));
    let order = w.order(&customer, OrderArgs { nodes: 3, ..ix::order_args(1) });
    let leases = [&first, &second].map(|m| w.award(&keeper, &customer, &order, &provider, m));
    w.warp(10_000);
    w.refused(ix::lease_abort(&w, &leases[0]), &[], MarketError::WrongOrderStatus);
    w.ok(ix::order_expire(&customer, &order), &[]);
    let meta = w.ok(ix::lease_abort(&w, &leases[0]), &[]);
    assert_emitted(&meta, &LeaseAborted { lease: leases[0], released: 2_000_000, node_failed: 0 });
    let state: Order = w.read(&order);
    assert_eq!((state.status, state.live_leases, state.nodes_awarded), (ORDER_EXPIRED, 1, 1));
    assert_eq!(w.read::<Credits>(&customer.credits()).live_orders, 1);
    w.ok(ix::lease_abort(&w, &leases[1]), &[]);
    assert!(!w.exists(&order));
    assert_eq!(w.read::<Node>(&first.node).jobs_failed, 0);
    let credits: Credits = w.read(&customer.credits());
    assert_eq!((credits.reserved, credits.live_orders, credits.live_leases), (0, 0, 0));
    assert_eq!(w.lamports(&customer.wallet()), customers);
    assert_eq!(w.lamports(&keeper.wallet()), keepers);
}

#[test]
fn a_keepers_own_order_comes_apart_too() {
    // Then the rent of order and lease goes to one wallet, which stands in the instruction twice.
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    w.ok(ix::credits_deposit(&w, &keeper, 100_000_000), &[&keeper.key]);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let before = w.lamports(&keeper.wallet());
    let order = w.order(&keeper, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let lease = w.award(&keeper, &keeper, &order, &provider, &machine);
    w.warp(61);
    w.ok(ix::order_expire(&keeper, &order), &[]);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    assert_eq!(w.lamports(&keeper.wallet()), before);
    assert_eq!(w.read::<Node>(&machine.node).gpu_mask, 0);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
}

#[test]
fn a_paused_market_still_gives_back() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.pause();
    w.warp(121);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let (stranger, other) = (w.customer(10_000_000), w.provider(20_000_000_000));
    let others = w.machine(&other, 1);
    let others_order = w.order(&stranger, ix::order_args(1));
    w.warp(121);
    let good = ix::lease_abort(&w, &deal.lease);
    let (order, credits, node, provider, lease) =
        (deal.order, deal.customer.credits(), deal.machine.node, deal.provider.provider(), deal.lease);
    let forged = [pda::market(), order, credits, node, provider, lease].map(|at| (at, w.forged(&at)));
    for (at, fake) in forged {
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&node);
    let cases = [
        ("order", order, others_order, MarketError::WrongAccount.into()),
        ("order's rent", deal.customer.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("node's address", node, twin, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("lease's rent", deal.keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}

#[test]
fn a_node_that_did_not_start_waits_twice_as_long_each_time() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(121);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    let (provider, node) = (deal.provider.provider(), deal.machine.node);
    for (nonce, hold) in [(2, 240), (3, 480), (4, 960)] {
        let absent = w.read::<Node>(&node).absent;
        assert_eq!((absent.since, absent.until), (w.now(), w.now() + hold));
        w.warp(hold - 1);
        let order = w.order(&deal.customer, ix::order_args(nonce));
        let award = ix::order_award(&deal.keeper, &deal.customer, &order, &provider, &node);
        w.refused(award.clone(), &[&deal.keeper.key], MarketError::NodeUnhealthy);
        w.warp(1);
        w.ok(award, &[&deal.keeper.key]);
        w.warp(121);
        w.ok(ix::lease_abort(&w, &pda::lease(&order, &node)), &[]);
    }
    // A day at most.
    w.alter(&node, |n: &mut Node| n.missed = u8::MAX - 1);
    for _ in 0..2 {
        w.alter(&node, |n: &mut Node| n.note_missed(120, 0).expect("fits"));
        let node: Node = w.read(&node);
        assert_eq!((node.missed, node.absent.until.min(DAY as i64)), (u8::MAX, DAY as i64));
    }
}

#[test]
fn an_order_from_before_it_did_not_start_may_still_go_to_it() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(121);
    let order = w.order(&deal.customer, ix::order_args(2));
    w.warp(1);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
}

/// Finding P 30.
#[test]
fn a_day_after_the_wait_ends_the_row_and_no_payment_does() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.alter(&deal.machine.node, |n: &mut Node| n.missed = 5);
    w.warp(100);
    w.settle(&deal, 1, 100);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.warp_to_next_period();
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    assert_eq!(w.read::<Node>(&deal.machine.node).missed, 5);
    for (waited, row) in [(DAY as i64 - 1, 6), (DAY as i64, 1)] {
        let mut w = Testbed::new();
        let deal = w.awarded();
        w.warp(121);
        let until = w.now() - waited;
        w.alter(&deal.machine.node, |n: &mut Node| {
            n.missed = 5;
            n.absent.until = until;
        });
        w.ok(ix::lease_abort(&w, &deal.lease), &[]);
        assert_eq!(w.read::<Node>(&deal.machine.node).missed, row, "a row that waited {waited} s");
    }
}
