use gantry_market::errors::MarketError;
use gantry_market::state::{Keeper, Market, KEEPER_ACTIVE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::transactions::swap;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn the_wallet_lets_the_weight_count_after_the_delay() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(5_000_000_000);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.ok(ix::keeper_activate(&who), &[&who.key]);
    let keeper: Keeper = w.read(&who.keeper());
    assert_eq!((keeper.status, keeper.weight), (KEEPER_ACTIVE, 5_000_000_000));
    assert_eq!(keeper.active_since, w.now());
    assert_eq!(w.market().total_weight, 5_000_000_000);
}

#[test]
fn the_lowest_free_place_is_taken() {
    let mut w = Testbed::new();
    w.alter(&pda::market(), |m: &mut Market| {
        m.keeper_slots[0] = 0b1111_0111;
        m.keeper_count = 7;
    });
    let (who, next) = (w.keeper(w.params.min_bond), w.keeper(w.params.min_bond));
    assert_eq!(w.read::<Keeper>(&who.keeper()).index, 3);
    assert_eq!(w.read::<Keeper>(&next.keeper()).index, 8);
}

#[test]
fn there_are_256_places() {
    let mut w = Testbed::new();
    w.alter(&pda::market(), |m: &mut Market| {
        m.keeper_slots = [0xff; 32];
        m.keeper_slots[31] = 0x7f;
        m.keeper_count = 255;
    });
    let last = w.keeper(w.params.min_bond);
    assert_eq!(w.read::<Keeper>(&last.keeper()).index, 255);
    let late = w.pending_keeper(w.params.min_bond);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.refused(ix::keeper_activate(&late), &[&late.key], MarketError::TooManyKeepers);
    // Whoever leaves frees its place at once.
    w.ok(ix::keeper_request_exit(&last), &[&last.key]);
    w.ok(ix::keeper_activate(&late), &[&late.key]);
    assert_eq!(w.read::<Keeper>(&late.keeper()).index, 255);
}

#[test]
fn weight_is_capped_and_adds_up() {
    let mut w = Testbed::new();
    let rich = w.keeper(w.params.weight_cap * 3);
    w.keeper(w.params.min_bond);
    let keeper: Keeper = w.read(&rich.keeper());
    assert_eq!(keeper.weight, w.params.weight_cap);
    assert_eq!(keeper.bond, w.params.weight_cap * 3);
    assert_eq!(w.market().total_weight, w.params.weight_cap + w.params.min_bond);
}

#[test]
fn not_a_second_earlier_and_once_only() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    w.warp(i64::from(w.params.keeper_activation_secs) - 1);
    w.refused(ix::keeper_activate(&who), &[&who.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(ix::keeper_activate(&who), &[&who.key]);
    w.refused(ix::keeper_activate(&who), &[&who.key], MarketError::WrongKeeperStatus);
    assert_eq!(w.market().total_weight, w.params.min_bond);
}

#[test]
fn an_exiting_keeper_stays_out() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.refused(ix::keeper_activate(&who), &[&who.key], MarketError::WrongKeeperStatus);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.pending_keeper(w.params.min_bond), w.pending_keeper(w.params.min_bond));
    w.warp(i64::from(w.params.keeper_activation_secs));
    let (market, keeper) = (w.forged(&pda::market()), w.forged(&who.keeper()));
    let twin = w.twin(&who.keeper_vault());
    let good = ix::keeper_activate(&who);
    let cases: [(_, _, Code); 5] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.keeper(), keeper, InstructionError::IllegalOwner.into()),
        (who.keeper(), pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        (who.keeper_vault(), other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        (who.keeper_vault(), twin, InstructionError::InvalidSeeds.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}

#[test]
fn nobody_else_lets_a_keepers_weight_count() {
    let mut w = Testbed::new();
    let (who, other) = (w.pending_keeper(w.params.min_bond), w.pending_keeper(w.params.min_bond));
    w.warp(i64::from(w.params.keeper_activation_secs));
    let good = ix::keeper_activate(&who);
    let by_other = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(by_other, &[&other.key], MarketError::Unauthorised);
    let mut unsigned = good;
    unsigned.accounts[0].is_signer = false;
    w.refused(unsigned, &[], InstructionError::MissingRequiredSignature);
    assert_eq!(w.market().total_weight, 0);
}

#[test]
fn a_bond_that_a_slash_made_too_small_does_not_count() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.alter(&who.keeper(), |k: &mut Keeper| k.bond -= 1);
    w.refused(ix::keeper_activate(&who), &[&who.key], MarketError::BondTooSmall);
}
