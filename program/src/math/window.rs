//! Which report periods were applied: the last one, and a bit for each of the 32 periods that end with it.
//!
//! A leaf may arrive after a later one. Were periods only allowed to grow, whoever applies the later leaf first would
//! make the earlier one, with its fault or its verified seconds, unreachable.

/// How many periods are remembered: one bit each. Older ones count as applied.
pub const PERIODS: u64 = u32::BITS as u64;

/// A window in which nothing up to `last` can be applied any more.
pub const CLOSED: u32 = u32::MAX;

/// Marks `period` as applied and returns the new last period and window; `None` when it was applied before or is older
/// than the window.
pub fn mark(last: u64, window: u32, period: u64) -> Option<(u64, u32)> {
    if period > last {
        let ahead = period.wrapping_sub(last);
        let moved = u32::try_from(ahead).ok().and_then(|ahead| window.checked_shl(ahead)).unwrap_or(0);
        return Some((period, moved | 1));
    }
    let behind = u32::try_from(last.wrapping_sub(period)).ok()?;
    let bit = 1u32.checked_shl(behind)?;
    if window & bit == 0 {
        Some((last, window | bit))
    } else {
        None
    }
}
