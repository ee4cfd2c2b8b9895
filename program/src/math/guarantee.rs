//! Uptime guarantees: what one is worth in the score, and whether it was kept.

use crate::constants::BPS;

/// What a guarantee takes off a price when nodes are compared: a twentieth, so 5 % for one of uninterrupted uptime.
pub fn discount_bps(guarantee_bps: u16) -> u16 {
    guarantee_bps.min(BPS as u16) / 20
}

/// Whether `up_secs` of `counted_secs` are at least the promised share. Where nothing was counted, the guarantee was
/// kept.
pub fn kept(up_secs: u64, counted_secs: u64, guarantee_bps: u16) -> bool {
    (up_secs as u128).saturating_mul(BPS as u128)
        >= (counted_secs as u128).saturating_mul(guarantee_bps as u128)
}
