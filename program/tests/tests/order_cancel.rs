use gantry_market::errors::MarketError;
use gantry_market::events::OrderCancelled;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Order, ORDER_LAPSED};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
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
fn money_and_rent_come_back() {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let before = w.lamports(&who.wallet());
    let order = w.order(&who, ix::order_args(1));
    let meta = w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    assert_emitted(&meta, &OrderCancelled { order, released: 3_000_000 });
    assert!(!w.exists(&order));
    assert_eq!(w.lamports(&who.wallet()), before);
    let credits: Credits = w.read(&who.credits());
    assert_eq!((credits.balance, credits.reserved, credits.live_orders), (100_000_000, 0, 0));
    // The nonce is free again.
    w.order(&who, ix::order_args(1));
}

#[test]
fn once_only() {
    let (mut w, who, order) = ordered();
    w.order(&who, ix::order_args(2));
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    let again = ix::order_cancel(&who, &order);
    w.refused(again, &[&who.key], InstructionError::AccountDataTooSmall);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 3_000_000);
}

#[test]
fn not_once_a_node_has_it() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let who = w.customer(100_000_000);
    for (nonce, nodes) in [(1, 1), (2, 2)] {
        let order = w.order(&who, OrderArgs { nodes, ..ix::order_args(nonce) });
        w.award(&keeper, &who, &order, &provider, &machine);
        w.refused(ix::order_cancel(&who, &order), &[&who.key], MarketError::WrongOrderStatus);
    }
}

#[test]
fn a_lapsed_order_is_cancelled_once_it_has_no_lease() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(121);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    let order: Order = w.read(&deal.order);
    assert_eq!((order.status, order.live_leases), (ORDER_LAPSED, 0));
    w.alter(&deal.order, |o: &mut Order| (o.live_leases, o.nodes_awarded) = (1, 1));
    let cancel = ix::order_cancel(&deal.customer, &deal.order);
    w.refused(cancel.clone(), &[&deal.customer.key], MarketError::WrongOrderStatus);
    w.alter(&deal.order, |o: &mut Order| (o.live_leases, o.nodes_awarded) = (0, 0));
    w.ok(cancel, &[&deal.customer.key]);
    assert!(!w.exists(&deal.order));
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.reserved, credits.live_orders, credits.live_leases), (0, 0, 0));
}

#[test]
fn a_sealed_order_is_not_taken_back_once_bids_are_open() {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let order = w.order(&who, ix::sealed_args(1));
    w.ok(ix::auction_open(&who, &order, 30, 20), &[&who.key]);
    w.warp(30);
    let cancel = ix::order_cancel(&who, &order);
    w.refused(cancel.clone(), &[&who.key], MarketError::TooLate);
    w.warp(81);
    w.refused(cancel.clone(), &[&who.key], MarketError::TooLate);
    w.warp(-82);
    w.ok(cancel, &[&who.key]);
}

#[test]
fn a_paused_market_still_gives_back() {
    let (mut w, who, order) = ordered();
    w.pause();
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
}

#[test]
fn books_that_do_not_add_up_give_nothing() {
    let (mut w, who, order) = ordered();
    w.alter(&order, |o: &mut Order| o.reserved = 3_000_001);
    w.refused(ix::order_cancel(&who, &order), &[&who.key], MarketError::Overflow);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, who, order) = ordered();
    let other = w.customer(100_000_000);
    let others = w.order(&other, ix::order_args(1));
    let good = ix::order_cancel(&who, &order);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (credits, forged) = (w.forged(&who.credits()), w.forged(&order));
    // Only the signer, not the wallet that the rent goes to.
    let theft = ix::by_session(good.clone(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let cases = [
        ("credits", who.credits(), other.credits(), MarketError::WrongAccount.into()),
        ("credits' program", who.credits(), credits, InstructionError::IllegalOwner.into()),
        ("order", order, others, MarketError::WrongAccount.into()),
        ("order's program", order, forged, InstructionError::IllegalOwner.into()),
    ];
    w.refuses_swaps(&good, &[&who.key, &other.key], &cases);
    // The rent goes where it came from: the third account, not the first, which is the same wallet.
    let mut greedy = good;
    greedy.accounts[3].pubkey = other.wallet();
    w.refused(greedy, &[&who.key], MarketError::WrongAccount);
}

/// Finding P 3.
#[test]
fn a_redundant_order_is_not_cancelled_once_its_nodes_are_drawn() {
    let args =
        OrderArgs { nodes: 3, run_to_completion: 1, redundant: 1, no_migration: 1, ..ix::order_args(1) };
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let order = w.order(&who, args);
    // In its own second nobody knows the draw.
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    let order = w.order(&who, args);
    w.warp(1);
    w.refused(ix::order_cancel(&who, &order), &[&who.key], MarketError::TooLate);
    w.warp(i64::from(w.params.award_deadline_secs));
    w.ok(ix::order_expire(&who, &order), &[]);
}
