use gantry_market::errors::MarketError;
use gantry_market::events::OrderExpired;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Node, Order, ORDER_AWARDED, ORDER_EXPIRED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::{ix, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

fn ordered() -> (Testbed, Actor, Address) {
    let mut w = Testbed::new();
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, ix::order_args(1));
    (w, customer, order)
}

#[test]
fn anyone_releases_an_order_that_nobody_took() {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let before = w.lamports(&who.wallet());
    let order = w.order(&who, ix::order_args(1));
    w.warp(60);
    w.refused(ix::order_expire(&who, &order), &[], MarketError::TooEarly);
    w.warp(1);
    let meta = w.ok(ix::order_expire(&who, &order), &[]);
    assert_emitted(&meta, &OrderExpired { order, released: 3_000_000 });
    assert!(!w.exists(&order));
    assert_eq!(w.lamports(&who.wallet()), before);
    let credits: Credits = w.read(&who.credits());
    assert_eq!((credits.reserved, credits.live_orders), (0, 0));
    w.refused(ix::order_expire(&who, &order), &[], InstructionError::AccountDataTooSmall);
}

#[test]
fn a_part_that_is_awarded_is_kept_until_its_lease_is_aborted() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let who = w.customer(100_000_000);
    let before = w.lamports(&who.wallet());
    let order = w.order(&who, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let lease = w.award(&keeper, &who, &order, &provider, &machine);
    // 2 USDC for the awarded part, 3 for the other.
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 5_000_000);
    w.warp(61);
    w.ok(ix::order_expire(&who, &order), &[]);
    let state: Order = w.read(&order);
    assert_eq!((state.status, state.reserved, state.live_leases), (ORDER_EXPIRED, 0, 1));
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 2_000_000);
    w.refused(ix::order_expire(&who, &order), &[], MarketError::WrongOrderStatus);
    w.refused(ix::order_cancel(&who, &order), &[&who.key], MarketError::WrongOrderStatus);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    assert!(!w.exists(&order) && !w.exists(&lease));
    let credits: Credits = w.read(&who.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000, 0));
    assert_eq!((credits.live_orders, credits.live_leases), (0, 0));
    assert_eq!(w.lamports(&who.wallet()), before);
}

/// An order over several nodes, and machines for it.
struct Parts {
    w: Testbed,
    keeper: Actor,
    provider: Actor,
    machines: Vec<Machine>,
    customer: Actor,
    order: Address,
}

impl Parts {
    fn of(args: OrderArgs) -> Parts {
        let mut w = Testbed::new();
        let keeper = w.keeper(w.params.min_bond);
        let provider = w.provider(80_000_000_000);
        let machines = (0..8).map(|_| w.machine(&provider, 1)).collect();
        let customer = w.customer(1_000_000_000);
        let order = w.order(&customer, args);
        Parts { w, keeper, provider, machines, customer, order }
    }

    fn award(&mut self, machine: usize) -> Address {
        self.w.award(&self.keeper, &self.customer, &self.order, &self.provider, &self.machines[machine])
    }

    /// It can be expired after so many seconds, not sooner.
    fn ends_after(&mut self, secs: i64) {
        let expire = ix::order_expire(&self.customer, &self.order);
        self.w.warp(secs);
        self.w.refused(expire.clone(), &[], MarketError::TooEarly);
        self.w.warp(1);
        self.w.ok(expire, &[]);
    }
}

#[test]
fn machines_that_have_a_part_do_not_wait_for_the_award_deadline() {
    let mut p = Parts::of(OrderArgs { nodes: 3, ..ix::order_args(1) });
    p.w.warp(5);
    let mut leases = vec![p.award(0)];
    p.w.warp(20);
    leases.push(p.award(1));
    let order: Order = p.w.read(&p.order);
    assert_eq!(order.parts_by, p.w.now() - 20 + 32, "half a minute after the first, and a second for each");
    p.ends_after(12);
    for (lease, machine) in leases.iter().zip(&p.machines) {
        p.w.ok(ix::lease_abort(&p.w, lease), &[]);
        let node: Node = p.w.read(&machine.node);
        assert_eq!((node.jobs_failed, node.gpu_mask), (0, 0), "nobody is blamed");
    }
    assert!(!p.w.exists(&p.order));
    let credits: Credits = p.w.read(&p.customer.credits());
    assert_eq!((credits.reserved, credits.live_orders, credits.live_leases), (0, 0, 0));
}

/// Against a rule that counts from the last part: one machine each fourteen seconds would hold all others for a minute.
#[test]
fn a_keeper_that_awards_a_part_now_and_then_holds_the_others_for_a_second_more() {
    let mut p = Parts::of(OrderArgs { nodes: 64, ..ix::order_args(1) });
    let began = p.w.now();
    for machine in 0..5 {
        p.award(machine);
    }
    for machine in 5..7 {
        p.w.warp(14);
        p.award(machine);
    }
    p.ends_after(began + 37 - p.w.now());
}

/// What congestion makes of an honest keeper's awards: four parts in a transaction, and the next one half a minute later.
#[test]
fn slow_transactions_complete_an_order() {
    let mut p = Parts::of(OrderArgs { nodes: 8, ..ix::order_args(1) });
    for machine in 0..4 {
        p.award(machine);
    }
    p.w.warp(34);
    p.w.refused(ix::order_expire(&p.customer, &p.order), &[], MarketError::TooEarly);
    for machine in 4..8 {
        p.award(machine);
    }
    let order: Order = p.w.read(&p.order);
    assert_eq!((order.status, order.parts_by), (ORDER_AWARDED, 0));
}

#[test]
fn an_order_that_may_be_expired_can_still_be_completed() {
    let mut p = Parts::of(OrderArgs { nodes: 2, ..ix::order_args(1) });
    p.award(0);
    p.w.warp(60);
    p.award(1);
    assert_eq!(p.w.read::<Order>(&p.order).status, ORDER_AWARDED);
}

#[test]
fn the_award_deadline_ends_an_order_with_parts_as_well() {
    let mut p = Parts::of(OrderArgs { nodes: 2, ..ix::order_args(1) });
    p.w.warp(50);
    p.award(0);
    p.ends_after(10);
}

/// Otherwise its customer could try again for other nodes sooner.
#[test]
fn an_order_whose_nodes_are_drawn_has_until_its_award_deadline() {
    let args =
        OrderArgs { nodes: 3, run_to_completion: 1, redundant: 1, no_migration: 1, ..ix::order_args(1) };
    let mut p = Parts::of(args);
    p.award(0);
    assert_eq!(p.w.read::<Order>(&p.order).parts_by, 0);
    p.ends_after(60);
}

/// Its machines were awarded before, some run already: only a new part counts.
#[test]
fn an_order_that_is_opened_again_waits_a_minute_for_its_first_new_part() {
    let mut p = Parts::of(OrderArgs { nodes: 4, ..ix::order_args(1) });
    let leases: Vec<_> = (0..4).map(|machine| p.award(machine)).collect();
    p.w.warp(121);
    for lease in &leases[..2] {
        p.w.ok(ix::lease_abort(&p.w, lease), &[]);
    }
    p.w.ok(ix::order_reopen(&p.customer, &p.order), &[&p.customer.key]);
    assert_eq!(p.w.read::<Order>(&p.order).parts_by, 0);
    p.w.warp(20);
    p.w.refused(ix::order_expire(&p.customer, &p.order), &[], MarketError::TooEarly);
    p.award(4);
    assert_eq!(p.w.read::<Order>(&p.order).parts_by, p.w.now() + 31);
    p.ends_after(31);
}

#[test]
fn a_fully_awarded_order_does_not_expire() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(10_000);
    let expire = ix::order_expire(&deal.customer, &deal.order);
    w.refused(expire, &[], MarketError::WrongOrderStatus);
}

#[test]
fn a_lapsed_order_waits_for_its_customer_and_for_its_last_lease() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(121);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    let expire = ix::order_expire(&deal.customer, &deal.order);
    w.warp(60);
    w.refused(expire.clone(), &[], MarketError::TooEarly);
    w.warp(1);
    w.alter(&deal.order, |o: &mut Order| (o.live_leases, o.nodes_awarded) = (1, 1));
    w.refused(expire.clone(), &[], MarketError::WrongOrderStatus);
    w.alter(&deal.order, |o: &mut Order| (o.live_leases, o.nodes_awarded) = (0, 0));
    w.ok(expire, &[]);
    assert!(!w.exists(&deal.order));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).live_orders, 0);
}

#[test]
fn a_paused_market_still_gives_back() {
    let (mut w, who, order) = ordered();
    w.pause();
    w.warp(61);
    w.ok(ix::order_expire(&who, &order), &[]);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, who, order) = ordered();
    let other = w.customer(100_000_000);
    w.order(&other, ix::order_args(1));
    w.warp(61);
    let good = ix::order_expire(&who, &order);
    let (credits, forged) = (w.forged(&who.credits()), w.forged(&order));
    let cases = [
        ("credits", who.credits(), other.credits(), MarketError::WrongAccount.into()),
        ("credits' program", who.credits(), credits, InstructionError::IllegalOwner.into()),
        ("order's program", order, forged, InstructionError::IllegalOwner.into()),
        ("rent payer", who.wallet(), other.wallet(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
