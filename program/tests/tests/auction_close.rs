use gantry_market::errors::MarketError;
use gantry_market::events::AuctionClosed;
use gantry_market::state::Auction;
use gantry_market_tests::actors::START_LAMPORTS;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// Closes after 30 seconds, reveals until 50, awards until 110.
fn opened() -> (Testbed, Actor, Address) {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let order = w.order(&who, ix::sealed_args(1));
    w.ok(ix::auction_open(&who, &order, 30, 20), &[&who.key]);
    (w, who, order)
}

#[test]
fn an_order_that_nobody_took_gives_all_rent_back() {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let before = w.lamports(&who.wallet());
    let order = w.order(&who, ix::sealed_args(1));
    w.ok(ix::auction_open(&who, &order, 30, 20), &[&who.key]);
    assert!(before <= START_LAMPORTS);
    let close = ix::auction_close(&order, &who.wallet());
    w.warp(51);
    w.refused(close.clone(), &[], MarketError::StillInUse);
    w.warp(60);
    w.ok(ix::order_expire(&who, &order), &[]);
    let meta = w.ok(close, &[]);
    assert_emitted(&meta, &AuctionClosed { order });
    assert!(!w.exists(&pda::auction(&order)));
    assert_eq!(w.lamports(&who.wallet()), before);
}

#[test]
fn it_outlives_its_reveals_so_that_no_second_one_has_the_same_close() {
    let (mut w, who, order) = opened();
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    w.order(&who, ix::sealed_args(1));
    let again = ix::auction_open(&who, &order, 30, 20);
    w.refused(again, &[&who.key], gantry_market_tests::attempts::ALREADY_IN_USE);
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    let close = ix::auction_close(&order, &who.wallet());
    w.warp(50);
    w.refused(close.clone(), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(close, &[]);
}

#[test]
fn an_awarded_one_waits_for_the_time_to_challenge_it() {
    let (mut w, who, order) = opened();
    let now = w.now();
    w.alter(&pda::auction(&order), |a: &mut Auction| {
        (a.awarded_at, a.challenge_until) = (now + 60, now + 120);
    });
    let close = ix::auction_close(&order, &who.wallet());
    w.set_now(now + 120);
    w.refused(close.clone(), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(close, &[]);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, who, order) = opened();
    let other = w.customer(100_000_000);
    let others = w.order(&other, ix::sealed_args(1));
    w.ok(ix::order_cancel(&who, &order), &[&who.key]);
    w.warp(51);
    let good = ix::auction_close(&order, &who.wallet());
    let forged = w.forged(&pda::auction(&order));
    let cases = [
        ("order", order, others, MarketError::WrongAccount.into()),
        ("auction's program", pda::auction(&order), forged, InstructionError::IllegalOwner.into()),
        ("rent payer", who.wallet(), other.wallet(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
