use gantry_market::errors::MarketError;
use gantry_market::events::AuctionOpened;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Auction, Credits, Order, ORDER_EXPIRED};
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

fn sealed() -> (Testbed, Actor, Address) {
    let mut w = Testbed::new();
    let who = w.customer(100_000_000);
    let order = w.order(&who, ix::sealed_args(1));
    (w, who, order)
}

#[test]
fn an_auction_has_times_and_moves_the_award_deadline() {
    let (mut w, who, order) = sealed();
    w.warp(3);
    let now = w.now();
    let meta = w.ok(ix::auction_open(&who, &order, 30, 20), &[&who.key]);
    let auction: Auction = w.read(&pda::auction(&order));
    assert_eq!((auction.order, auction.rent_payer), (order, who.wallet()));
    assert_eq!((auction.close_at, auction.reveal_until), (now + 30, now + 50));
    assert_eq!((auction.awarded_at, auction.winner_count), (0, 0));
    let state: Order = w.read(&order);
    assert_eq!((state.auction_close, state.award_deadline), (now + 30, now + 110));
    let event =
        AuctionOpened { order, close_at: now + 30, reveal_until: now + 50, award_deadline: now + 110 };
    assert_emitted(&meta, &event);
    w.refused(ix::auction_open(&who, &order, 30, 20), &[&who.key], ALREADY_IN_USE);
}

#[test]
fn a_session_key_opens_it_with_its_order() {
    let mut w = Testbed::new();
    let (who, session) = (w.customer(100_000_000), w.actor());
    let until = w.now() + 10;
    w.ok(ix::credits_set_session_key(&who, &session.wallet(), 5_000_000, until), &[&who.key]);
    let order = pda::order(&who.wallet(), 1);
    let both = [ix::order_create(&who, ix::sealed_args(1)), ix::auction_open(&who, &order, 30, 20)]
        .map(|instruction| ix::by_session(instruction, &session.wallet()));
    w.ok_all(&both, &[&session.key]);
    assert_eq!(w.read::<Auction>(&pda::auction(&order)).rent_payer, session.wallet());
    assert_eq!(w.read::<Credits>(&who.credits()).session_keys[0].spent, 3_000_000);
}

#[test]
fn times_have_bounds() {
    let (mut w, who, order) = sealed();
    for (auction, reveal) in [(4, 20), (86_401, 20), (30, 4), (30, 3_601), (0, 0), (u32::MAX, u32::MAX)] {
        let open = ix::auction_open(&who, &order, auction, reveal);
        w.refused(open, &[&who.key], MarketError::InvalidDuration);
    }
    w.ok(ix::auction_open(&who, &order, 86_400, 3_600), &[&who.key]);
    let second = w.order(&who, ix::sealed_args(2));
    w.ok(ix::auction_open(&who, &second, 5, 5), &[&who.key]);
}

#[test]
fn only_for_a_sealed_order_that_is_open_and_in_time() {
    let (mut w, who, order) = sealed();
    let instant = w.order(&who, ix::order_args(2));
    let open = ix::auction_open(&who, &instant, 30, 20);
    w.refused(open, &[&who.key], MarketError::WrongOrderMode);
    let open = ix::auction_open(&who, &order, 30, 20);
    w.alter(&order, |o: &mut Order| (o.status, o.reserved) = (ORDER_EXPIRED, 0));
    w.refused(open.clone(), &[&who.key], MarketError::WrongOrderStatus);
    w.alter(&order, |o: &mut Order| (o.status, o.reserved) = (1, 3_000_000));
    w.warp(61);
    w.refused(open.clone(), &[&who.key], MarketError::TooLate);
    w.warp(-1);
    w.pause();
    w.refused(open, &[&who.key], MarketError::OrdersPaused);
}

#[test]
fn sealed_orders_want_at_most_eight_nodes() {
    let (mut w, who, _) = sealed();
    let nine = OrderArgs { nodes: 9, ..ix::sealed_args(2) };
    w.refused(ix::order_create(&who, nine), &[&who.key], MarketError::InvalidRequirement);
    w.order(&who, OrderArgs { nodes: 8, ..ix::sealed_args(2) });
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, who, order) = sealed();
    let other = w.customer(100_000_000);
    let others = w.order(&other, ix::sealed_args(1));
    let good = ix::auction_open(&who, &order, 30, 20);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    for at in [pda::market(), who.credits(), order] {
        let fake = w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &[&who.key], &cases);
    }
    let elsewhere = w.fresh_address();
    let auction = pda::auction(&order);
    let cases = [
        ("signer", who.wallet(), other.wallet(), MarketError::Unauthorised.into()),
        ("credits", who.credits(), other.credits(), MarketError::WrongAccount.into()),
        ("order", order, others, InstructionError::InvalidSeeds.into()),
        ("auction", auction, elsewhere, InstructionError::InvalidSeeds.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&who.key, &other.key], &cases);
}
