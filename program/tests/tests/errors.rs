//! Error numbers never move.

use gantry_market::errors::MarketError;
use gantry_market_tests::{market, Code};

/// Every variant's name and the number that its comment says.
fn documented() -> Vec<(&'static str, u32)> {
    include_str!("../../src/errors.rs")
        .lines()
        .filter_map(|line| line.trim().split_once(", // "))
        .filter_map(|(name, number)| Some((name, number.parse().ok()?)))
        .collect()
}

#[test]
fn numbers_are_consecutive_and_appended() {
    let all = documented();
    for ((name, number), want) in all.iter().zip(6_000..) {
        assert_eq!(*number, want, "{name}");
    }
    // Pins in the middle and at the ends: a variant put between others moves one of them.
    let pins = [
        (MarketError::Unauthorised, 6_000, "Unauthorised"),
        (MarketError::InsufficientFunds, 6_012, "InsufficientFunds"),
        (MarketError::TooManyKeepers, 6_025, "TooManyKeepers"),
        (MarketError::WrongLeaseStatus, 6_039, "WrongLeaseStatus"),
        (MarketError::InvalidProof, 6_050, "InvalidProof"),
        (MarketError::MissingAccount, 6_060, "MissingAccount"),
    ];
    for (error, number, name) in pins {
        assert_eq!(market(error), Code::Custom(number), "{name}");
        assert!(all.contains(&(name, number)), "{name} is not where its comment says");
    }
    assert!(all.len() >= 62, "errors are not removed");
}
