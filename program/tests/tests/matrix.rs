//! Every wrong account in every place of every instruction is refused.

use std::fs;

use gantry_market_tests::matrix;

#[test]
fn every_wrong_account_is_refused() {
    let outcome = matrix::run();
    println!("{}\n{:#?}", outcome.summary(), outcome.tried);
    assert!(outcome.unexplained().is_empty(), "{:#?}", outcome.unexplained());
    let (path, copies) = (matrix::copies_path(), outcome.copies_json());
    if std::env::var_os("GANTRY_WRITE_MATRIX").is_some_and(|v| v == "1") {
        fs::write(path, copies).expect("the list is written");
        return;
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        outcome.copies_are(&committed),
        "program/tests/copies.json is not the list of accounts whose address nothing checks; was a check dropped? \
         GANTRY_WRITE_MATRIX=1 writes it:\n{copies}"
    );
}
