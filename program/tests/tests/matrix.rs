//! Every wrong account in every place of every instruction is refused.

use gantry_market_tests::matrix;

#[test]
fn every_wrong_account_is_refused() {
    let outcome = matrix::run();
    println!("{}\n{:#?}", outcome.summary(), outcome.tried);
    assert!(outcome.unexplained().is_empty(), "{:#?}", outcome.unexplained());
}
