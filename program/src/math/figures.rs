//! What a machine's figures are worth by its class. The twin in Go is `sdk/market`.

use crate::constants::{BPS, FIGURES_BPS};

/// The share of a figure of what the class asks for, at most the whole; the whole where it asks for nothing.
fn share(figure: u32, asked: u32) -> u64 {
    let scaled = (figure as u64).saturating_mul(BPS);
    scaled.checked_div(asked as u64).unwrap_or(BPS).min(BPS)
}

/// The share of the class that a machine reaches, in basis points, rounded down: the lesser one of its two figures.
pub fn share_bps(operations: u32, bandwidth: u32, min_operations: u32, min_bandwidth: u32) -> u16 {
    share(operations, min_operations).min(share(bandwidth, min_bandwidth)) as u16
}

/// Whether a machine with these shares is of its class: their mean is at least [`FIGURES_BPS`]. One that was never
/// measured is not.
pub fn in_class(shares: &[u16]) -> bool {
    let sum = shares.iter().fold(0u64, |sum, share| sum.saturating_add(*share as u64));
    !shares.is_empty() && sum >= (FIGURES_BPS as u64).saturating_mul(shares.len() as u64)
}
