//! How nodes are compared for an order: the lowest score wins.

use anchor_lang::prelude::*;

use crate::constants::BPS;
use crate::math::fees::part_of;
use crate::math::guarantee::discount_bps;

/// What a lack of reputation adds to a price: half of what is missing, so that a node without any competes as if it
/// were 50 % dearer.
pub fn penalty_bps(reputation_bps: u16) -> u16 {
    10_000u16.saturating_sub(reputation_bps) / 2
}

/// What a price is multiplied with when nodes are compared: more for a lack of reputation, less for an uptime
/// guarantee.
pub fn factor_bps(reputation_bps: u16, guarantee_bps: u16) -> u64 {
    BPS.saturating_add(penalty_bps(reputation_bps) as u64).saturating_sub(discount_bps(guarantee_bps) as u64)
}

/// `price × (10,000 + penalty - discount) / 10,000`, rounded down. Ties go to the higher reputation, then to the
/// smaller `sha256(order ‖ node)`.
pub fn score(price: u64, reputation_bps: u16, guarantee_bps: u16) -> Result<u64> {
    part_of(price, factor_bps(reputation_bps, guarantee_bps), BPS)
}
