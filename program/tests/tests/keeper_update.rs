use gantry_market::errors::MarketError;
use gantry_market::state::Keeper;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;

use crate::keeper_register::bad_multiaddrs;

#[test]
fn says_where_the_keeper_is_now() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    let (bytes, len) = ix::multiaddr("/dns4/keeper.example/tcp/4001");
    w.ok(ix::keeper_update(&who, bytes, len), &[&who.key]);
    let keeper: Keeper = w.read(&who.keeper());
    assert_eq!((keeper.multiaddr, keeper.multiaddr_len), (bytes, len));
}

#[test]
fn the_address_must_be_one() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    for (bytes, len) in bad_multiaddrs() {
        println!("{len} of {bytes:?}");
        let instruction = ix::keeper_update(&who, bytes, len);
        w.refused(instruction, &[&who.key], MarketError::InvalidMultiaddr);
    }
}

#[test]
fn only_the_wallet_may() {
    let mut w = Testbed::new();
    let (who, other) = (w.pending_keeper(w.params.min_bond), w.actor());
    let (bytes, len) = ix::multiaddr(ix::HOME);
    let good = ix::keeper_update(&who, bytes, len);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let by_other = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(by_other, &[&other.key], MarketError::Unauthorised);
    let forged = w.forged(&who.keeper());
    let elsewhere = swap(good, &who.keeper(), &forged);
    w.refused(elsewhere, &[&who.key], InstructionError::IllegalOwner);
}
