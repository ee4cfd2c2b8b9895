//! Wide products on chain. Compilers before LLVM 23 miscompile them on this target silently; these tests see it.

use gantry_market::errors::MarketError;
use gantry_market::math::pricing::cost;
use gantry_market::state::{Credits, Order};
use gantry_market_tests::tokens::put_token_account;
use gantry_market_tests::{ix, pda, Actor, Testbed};

/// A customer with more money than fits a product of 64 bits.
fn rich(w: &mut Testbed) -> Actor {
    let who = w.actor();
    let mint = w.payment_mint;
    let program = gantry_market_tests::tokens::token_program();
    put_token_account(&mut w.svm, who.payment, mint, who.wallet(), u64::MAX / 2, program);
    w.ok(ix::credits_deposit(w, &who, u64::MAX / 2), &[&who.key]);
    who
}

#[test]
fn a_product_that_needs_more_than_64_bits_is_exact() {
    let mut w = Testbed::new();
    let who = rich(&mut w);
    // price × gpus × seconds = 1.75e20, which wraps in 64 bits; the quotient fits.
    let mut args = ix::order_args(1);
    (args.max_price, args.gpus_per_node, args.duration_secs) = (700_000_000_001, 8, 31_535_999);
    let exact = 700_000_000_001u128 * 8 * 31_535_999 / 3_600;
    assert!(700_000_000_001u64.checked_mul(8 * 31_535_999).is_none());
    w.ok(ix::order_create(&who, args), &[&who.key]);
    let order: Order = w.read(&pda::order(&who.wallet(), 1));
    assert_eq!(u128::from(order.reserved), exact);
    assert_eq!(u128::from(w.read::<Credits>(&who.credits()).reserved), exact);
    assert_eq!(cost(700_000_000_001, 8, 31_535_999).ok(), Some(order.reserved));
}

#[test]
fn a_quotient_that_does_not_fit_is_refused() {
    let mut w = Testbed::new();
    let who = rich(&mut w);
    let mut args = ix::order_args(1);
    (args.max_price, args.gpus_per_node, args.duration_secs) = (u64::MAX, 8, 31_536_000);
    w.refused(ix::order_create(&who, args), &[&who.key], MarketError::Overflow);
}

#[test]
fn checked_multiplication_in_64_bits_sees_the_overflow() {
    let mut w = Testbed::new();
    let who = rich(&mut w);
    // Each node's cost fits; the sum over 64 nodes does not.
    let mut args = ix::order_args(1);
    (args.max_price, args.duration_secs, args.nodes) = (1 << 59, 3_600, 64);
    w.refused(ix::order_create(&who, args), &[&who.key], MarketError::Overflow);
    // One step below: 2^57 × 63 still fits.
    (args.max_price, args.nodes) = (1 << 57, 63);
    w.alter(&who.credits(), |c: &mut Credits| c.reserved = 0);
    w.ok(ix::order_create(&who, args), &[&who.key]);
    let order: Order = w.read(&pda::order(&who.wallet(), 1));
    assert_eq!(order.reserved, (1 << 57) * 63);
}
