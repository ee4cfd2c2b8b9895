use gantry_market::errors::MarketError;
use gantry_market::events::OrderExpired;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Order, ORDER_EXPIRED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::{ix, Actor, Testbed};
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
