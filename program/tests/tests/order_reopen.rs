use gantry_market::errors::MarketError;
use gantry_market::events::OrderReopened;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Lease, Order, DECLINED_JOB, LEASE_AWARDED, LEASE_RUNNING, ORDER_AWARDED, ORDER_EXPIRED,
    ORDER_LAPSED, ORDER_OPEN, OUTPUT_ACCEPTED,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, Actor, Deal, Machine, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// An order of one node that did not start.
fn lapsed() -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(121);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    (w, deal)
}

/// A machine of another provider.
fn another(w: &mut Testbed) -> (Actor, Machine) {
    let owner = w.provider(10_000_000_000);
    let machine = w.machine(&owner, 1);
    (owner, machine)
}

struct Pair {
    keeper: Actor,
    customer: Actor,
    order: Address,
    machines: [Machine; 2],
    leases: [Address; 2],
}

/// An order of two nodes, awarded in full.
fn pair(w: &mut Testbed) -> Pair {
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let machines = [w.machine(&provider, 1), w.machine(&provider, 1)];
    let customer = w.customer(8_000_000);
    let order = w.order(&customer, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let leases = [0, 1].map(|at| w.award(&keeper, &customer, &order, &provider, &machines[at]));
    Pair { keeper, customer, order, machines, leases }
}

#[test]
fn a_lapsed_order_is_awarded_again() {
    let (mut w, deal) = lapsed();
    w.warp(1_000);
    let meta = w.ok(ix::order_reopen(&deal.customer, &deal.order), &[&deal.customer.key]);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.reserved, order.awarded_at), (ORDER_OPEN, 3_000_000, 0));
    assert_eq!(order.award_deadline, w.now() + 60);
    let event = OrderReopened {
        order: deal.order,
        reserved: 3_000_000,
        nodes: 1,
        award_deadline: order.award_deadline,
    };
    assert_emitted(&meta, &event);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.reserved, credits.live_orders), (3_000_000, 1));
    // The node that did not start has had its chance.
    let (provider, node) = (deal.provider.provider(), deal.machine.node);
    w.warp(60);
    let again = ix::order_award(&deal.keeper, &deal.customer, &deal.order, &provider, &node);
    w.refused(again, &[&deal.keeper.key], MarketError::NodeDeclined);
    let (owner, other) = another(&mut w);
    let lease = w.award(&deal.keeper, &deal.customer, &deal.order, &owner, &other);
    w.warp(120);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&other.key]);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.live_leases, order.nodes_awarded), (ORDER_AWARDED, 1, 1));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 2_000_000);
}

#[test]
fn a_lease_that_has_not_started_waits_for_the_order_to_be_whole_again() {
    let mut w = Testbed::new();
    let p = pair(&mut w);
    w.warp(121);
    w.ok(ix::lease_abort(&w, &p.leases[0]), &[]);
    let mut third = ix::order_reopen(&p.customer, &p.order);
    let meta = w.ok(third.clone(), &[&p.customer.key]);
    let deadline = w.now() + 60;
    assert_emitted(
        &meta,
        &OrderReopened { order: p.order, reserved: 3_000_000, nodes: 1, award_deadline: deadline },
    );
    // The other one neither starts nor is aborted meanwhile.
    let start = ix::lease_start(&w, &p.leases[1], [3; 32]);
    w.refused(start.clone(), &[&p.machines[1].key], MarketError::WrongOrderStatus);
    w.refused(ix::lease_abort(&w, &p.leases[1]), &[], MarketError::WrongOrderStatus);
    assert_eq!(w.read::<Lease>(&p.leases[1]).status, LEASE_AWARDED);
    w.warp(30);
    let (owner, other) = another(&mut w);
    w.before(&p.order, [other.node]);
    w.award(&p.keeper, &p.customer, &p.order, &owner, &other);
    w.warp(120);
    w.ok(start, &[&p.machines[1].key]);
    third.accounts.truncate(4);
    w.refused(third, &[&p.customer.key], MarketError::WrongOrderStatus);
}

#[test]
fn a_lease_that_has_started_goes_on() {
    let mut w = Testbed::new();
    let p = pair(&mut w);
    w.ok(ix::lease_start(&w, &p.leases[1], [3; 32]), &[&p.machines[1].key]);
    w.warp(121);
    w.ok(ix::lease_abort(&w, &p.leases[0]), &[]);
    w.ok(ix::order_reopen(&p.customer, &p.order), &[&p.customer.key]);
    let settle = ix::receipt(&w, &p.leases[1], &p.machines[1].key, &p.customer.key, 1, 100);
    w.ok_all(&settle, &[]);
    // Nobody takes the other part: the order expires, its running lease does not.
    w.warp(61);
    w.ok(ix::order_expire(&p.customer, &p.order), &[]);
    let order: Order = w.read(&p.order);
    assert_eq!((order.status, order.live_leases, order.nodes_awarded), (ORDER_EXPIRED, 1, 1));
    assert_eq!(w.read::<Lease>(&p.leases[1]).status, LEASE_RUNNING);
    w.ok(ix::lease_end(&w, &p.customer.wallet(), &p.leases[1], 0), &[&p.customer.key]);
    let settle = ix::receipt(&w, &p.leases[1], &p.machines[1].key, &p.customer.key, 2, 182);
    w.ok_all(&settle, &[]);
    w.warp_to_next_period();
    w.ok(ix::lease_close(&w, &p.customer.wallet(), &p.leases[1]), &[&p.customer.key]);
    assert!(!w.exists(&p.order));
    let credits: Credits = w.read(&p.customer.credits());
    assert_eq!((credits.reserved, credits.live_orders, credits.live_leases), (0, 0, 0));
}

#[test]
fn an_order_whose_other_lease_is_over_is_whole_with_a_new_one() {
    let mut w = Testbed::new();
    let p = pair(&mut w);
    w.ok(ix::lease_start(&w, &p.leases[1], [3; 32]), &[&p.machines[1].key]);
    w.ok(ix::lease_end(&w, &p.customer.wallet(), &p.leases[1], 0), &[&p.customer.key]);
    w.warp(121);
    w.ok(ix::lease_close(&w, &p.customer.wallet(), &p.leases[1]), &[&p.customer.key]);
    w.ok(ix::lease_abort(&w, &p.leases[0]), &[]);
    w.ok(ix::order_reopen(&p.customer, &p.order), &[&p.customer.key]);
    let order: Order = w.read(&p.order);
    assert_eq!((order.live_leases, order.nodes_awarded, order.reserved), (0, 1, 3_000_000));
    // One of its nodes has served: it is not cancelled any more, it expires.
    let cancel = ix::order_cancel(&p.customer, &p.order);
    w.refused(cancel, &[&p.customer.key], MarketError::WrongOrderStatus);
    let (owner, other) = another(&mut w);
    w.before(&p.order, [other.node]);
    w.award(&p.keeper, &p.customer, &p.order, &owner, &other);
    assert_eq!(w.read::<Order>(&p.order).status, ORDER_AWARDED);
}

#[test]
fn only_a_lapsed_order_and_only_with_money() {
    let (mut w, deal) = lapsed();
    let reopen = ix::order_reopen(&deal.customer, &deal.order);
    w.alter(&deal.customer.credits(), |c: &mut Credits| c.reserved = 97_000_001);
    w.refused(reopen.clone(), &[&deal.customer.key], MarketError::InsufficientFunds);
    w.alter(&deal.customer.credits(), |c: &mut Credits| c.reserved = 0);
    for status in [ORDER_OPEN, ORDER_AWARDED, ORDER_EXPIRED] {
        w.alter(&deal.order, |o: &mut Order| o.status = status);
        w.refused(reopen.clone(), &[&deal.customer.key], MarketError::WrongOrderStatus);
    }
    w.alter(&deal.order, |o: &mut Order| {
        (o.status, o.max_price, o.nodes_wanted) = (ORDER_LAPSED, u64::MAX, 64)
    });
    w.refused(reopen.clone(), &[&deal.customer.key], MarketError::Overflow);
    w.alter(&deal.order, |o: &mut Order| (o.max_price, o.nodes_wanted) = (3_000_000, 1));
    w.pause();
    w.refused(reopen, &[&deal.customer.key], MarketError::OrdersPaused);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal) = lapsed();
    let other = w.customer(100_000_000);
    let others = w.order(&other, ix::order_args(1));
    let good = ix::order_reopen(&deal.customer, &deal.order);
    let silent = unsigned(good.clone(), &deal.customer.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let market = gantry_market_tests::pda::market();
    for at in [market, deal.customer.credits(), deal.order] {
        let fake = w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &[&deal.customer.key], &cases);
    }
    let cases = [
        ("signer", deal.customer.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("credits", deal.customer.credits(), other.credits(), MarketError::WrongAccount.into()),
        ("order", deal.order, others, MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[&deal.customer.key, &other.key], &cases);
}

#[test]
fn not_a_redundant_job_of_which_a_lease_has_started() {
    let (mut w, deal) = lapsed();
    w.alter(&deal.order, |o: &mut Order| (o.redundant, o.nodes_wanted, o.nodes_awarded) = (1, 3, 1));
    w.alter(&deal.order, |o: &mut Order| o.started = 1);
    let reopen = ix::order_reopen(&deal.customer, &deal.order);
    w.refused(reopen, &[&deal.customer.key], MarketError::WrongOutputState);
}

#[test]
fn reopening_a_redundant_order_does_not_reject_work_that_has_begun() {
    let mut w = Testbed::new();
    let job = w.redundant_awarded();
    // Two machines start, the third does not.
    for run in &job.runs[..2] {
        w.ok(ix::lease_start(&w, &run.lease, [3; 32]), &[&run.machine.key]);
    }
    w.warp(121);
    w.ok(ix::lease_abort(&w, &job.runs[2].lease), &[]);
    let deadlines = |w: &Testbed| {
        let order: Order = w.read(&job.order);
        (order.outputs_by, order.reveal_by)
    };
    let stored = deadlines(&w);
    let reopen = ix::order_reopen(&job.customer, &job.order);
    w.refused(reopen, &[&job.customer.key], MarketError::WrongOutputState);
    assert_eq!(deadlines(&w), stored);
    // Nor does anyone resolve before both have had their time.
    let resolve = ix::output_resolve(&job.order, &job.leases()[..2]);
    w.refused(resolve.clone(), &[], MarketError::TooEarly);
    for at in 0..2 {
        job.commit(&mut w, at, 4);
    }
    w.set_now(stored.0 + 1);
    for at in 0..2 {
        job.reveal(&mut w, at, 4);
    }
    w.ok(resolve, &[]);
    for run in &job.runs[..2] {
        assert_eq!(w.read::<Lease>(&run.lease).output, OUTPUT_ACCEPTED);
    }
}

#[test]
fn not_once_as_many_nodes_did_not_serve_it_as_it_remembers() {
    let (mut w, deal) = lapsed();
    let owner = w.provider(100_000_000_000);
    for declined in 1.. {
        let reopen = ix::order_reopen(&deal.customer, &deal.order);
        if declined == 6 {
            w.refused(reopen, &[&deal.customer.key], MarketError::TooManyDeclined);
            break;
        }
        w.ok(reopen, &[&deal.customer.key]);
        let machine = w.machine(&owner, 1);
        let lease = w.award(&deal.keeper, &deal.customer, &deal.order, &owner, &machine);
        w.ok(ix::lease_decline(&w, &lease, DECLINED_JOB), &[&machine.key]);
    }
    w.ok(ix::order_cancel(&deal.customer, &deal.order), &[&deal.customer.key]);
}
