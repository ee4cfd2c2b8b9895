use gantry_market::constants::DAY;
use gantry_market::errors::MarketError;
use gantry_market::events::BoughtBack;
use gantry_market::state::Rewards;
use gantry_market_tests::actors::{START_PAYMENT, START_STAKE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// 8,000 µUSDC wait for a buy-back; a stake token is worth 1 USDC to governance.
fn waiting() -> (Testbed, Actor) {
    let mut w = Testbed::new();
    let deal = w.swept();
    let period = w.ripe(&[&deal.keeper]);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let buyer = w.actor();
    (w, buyer)
}

#[test]
fn tokens_are_burned_for_all_of_it() {
    let (mut w, buyer) = waiting();
    let supply = w.supply(&w.stake_mint);
    // At first a token fetches half of its price: 16,000 millionths of a token.
    let burned = 16_000_000;
    let meta = w.ok(ix::rewards_buy_back(&w, &buyer, burned), &[&buyer.key]);
    assert_emitted(&meta, &BoughtBack { buyer: buyer.wallet(), burned, paid: 8_000 });
    assert_eq!(w.supply(&w.stake_mint), supply - burned);
    assert_eq!(w.tokens(&buyer.stake), START_STAKE - burned);
    assert_eq!(w.tokens(&buyer.payment), START_PAYMENT + 8_000);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.buy_back, rewards.buy_back_since, rewards.bought_back), (0, w.now(), burned));
    w.refused(ix::rewards_buy_back(&w, &buyer, u64::MAX), &[&buyer.key], MarketError::NothingOwed);
}

#[test]
fn the_offer_rises_for_a_day_and_then_stands() {
    let (mut w, buyer) = waiting();
    // Half way up: 125 % of the price.
    w.warp(DAY as i64 / 2);
    let params = w.params;
    let cost =
        |w: &Testbed| w.read::<Rewards>(&pda::rewards()).buy_back_cost(&params, w.now()).expect("fits");
    assert_eq!(cost(&w), 6_400_000);
    w.warp(DAY as i64 / 2);
    assert_eq!(cost(&w), 4_000_000);
    w.warp(100 * DAY as i64);
    assert_eq!(cost(&w), 4_000_000);
    w.refused(ix::rewards_buy_back(&w, &buyer, 3_999_999), &[&buyer.key], MarketError::PriceTooHigh);
    w.ok(ix::rewards_buy_back(&w, &buyer, 4_000_000), &[&buyer.key]);
}

#[test]
fn what_is_burned_is_rounded_up() {
    let (mut w, buyer) = waiting();
    w.alter(&pda::market(), |m: &mut gantry_market::state::Market| m.params.stake_price = 3_000_000);
    let meta = w.ok(ix::rewards_buy_back(&w, &buyer, u64::MAX), &[&buyer.key]);
    // 8,000 / 1.5 = 5,333.3 millionths.
    assert_emitted(&meta, &BoughtBack { buyer: buyer.wallet(), burned: 5_333_334, paid: 8_000 });
}

#[test]
fn a_vault_that_is_short_sells_nothing() {
    let (mut w, buyer) = waiting();
    w.alter(&pda::rewards(), |r: &mut Rewards| r.earned += 1);
    w.refused(ix::rewards_buy_back(&w, &buyer, u64::MAX), &[&buyer.key], MarketError::InvariantBroken);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, buyer) = waiting();
    let stranger = w.actor();
    let good = ix::rewards_buy_back(&w, &buyer, u64::MAX);
    let key = [&buyer.key];
    w.refused(unsigned(good.clone(), &buyer.wallet()), &[], InstructionError::MissingRequiredSignature);
    // Another's tokens do not burn under this signature.
    let theft = gantry_market_tests::transactions::swap(good.clone(), &buyer.stake, &stranger.stake);
    w.refused(theft, &key, Code::Custom(4));
    for at in [pda::market(), pda::rewards()] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let (twin, vault) = (w.twin(&pda::rewards()), w.twin(&pda::fee_vault()));
    let (stake_mint, payment_mint) = (w.stake_mint, w.payment_mint);
    let cases: [(&str, Address, Address, Code); 6] = [
        ("rewards", pda::rewards(), twin, MarketError::WrongAccount.into()),
        ("fee vault", pda::fee_vault(), vault, MarketError::WrongAccount.into()),
        ("mint", stake_mint, payment_mint, MarketError::WrongMint.into()),
        ("tokens burned", buyer.stake, stranger.payment, MarketError::WrongMint.into()),
        ("tokens received", buyer.payment, stranger.stake, MarketError::WrongMint.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
}
