//! A machine that keepers found to be unhealthy: it gets no new orders until a report says otherwise, or for two periods.
//!
//! Only a final report says so. Whoever holds such a leaf back could apply it when an order comes that another node is to
//! have. So it counts for orders that are placed after it was applied, in awards as in proofs that an award was unjust. A
//! node that was away by the keepers' votes counts as unhealthy for a while too: see state/outage.rs.
//!
//! Nor does a node get new orders for a while that did not start what it was awarded: twice as long each time in a row. A
//! cheap one would stop every order otherwise, and keepers would have to give it the next.

use anchor_lang::prelude::*;

use crate::constants::{MISSED_HOLD_SECS, UNHEALTHY_PERIODS};
use crate::errors::OrOverflow;
use crate::math::periods::period_end;
use crate::state::Node;

/// Doublings after which every hold is the longest.
const MAX_DOUBLINGS: u8 = 20;

/// A time in which a node is unhealthy, and when the one before it ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct Unhealthy {
    /// When the report that says so was applied, or a little before the last answer of a node that was away.
    pub since: i64,
    /// 0 when there was none.
    pub until: i64,
    pub former_until: i64,
}

impl Node {
    /// Takes over what the leaf of the last period says.
    pub fn note_health(&mut self, unhealthy: bool, period: u64, period_secs: u32, now: i64) -> Result<()> {
        let lasts = (period_secs as i64).checked_mul(UNHEALTHY_PERIODS).or_overflow()?;
        let until = period_end(period, period_secs)?.checked_add(lasts).or_overflow()?;
        let spell = &mut self.unhealthy;
        if !unhealthy {
            spell.until = spell.until.min(now);
        } else if now < spell.until {
            spell.until = spell.until.max(until);
        } else if now < until {
            *spell = Unhealthy { since: now, until, former_until: spell.until };
        }
        Ok(())
    }

    /// It did not start a lease in time: no orders from now on for twice the time that it had, four times the next time in
    /// a row, and so on. A day after such a wait ends the row. A payment does not: its owner could make it to itself.
    pub fn note_missed(&mut self, start_secs: u32, now: i64) -> Result<()> {
        if now >= self.absent.until.saturating_add(MISSED_HOLD_SECS) {
            self.missed = 0;
        }
        self.missed = self.missed.saturating_add(1);
        let factor = 1i64.checked_shl(self.missed.min(MAX_DOUBLINGS) as u32).or_overflow()?;
        let lasts = (start_secs as i64).checked_mul(factor).or_overflow()?.min(MISSED_HOLD_SECS);
        let until = now.checked_add(lasts).or_overflow()?;
        let spell = &mut self.absent;
        if now < spell.until {
            spell.until = spell.until.max(until);
        } else {
            *spell = Unhealthy { since: now, until, former_until: spell.until };
        }
        Ok(())
    }

    /// Whether its health lets it have work at `now` that was ordered at `ordered_at`, and whether it started what it had.
    pub fn healthy_for(&self, ordered_at: i64, now: i64) -> bool {
        [&self.unhealthy, &self.absent].iter().all(|spell| now >= spell.until || ordered_at < spell.since)
    }

    /// Whether they let it have the order's work from `from` until the award.
    pub fn healthy_throughout(&self, from: i64, ordered_at: i64) -> bool {
        [&self.unhealthy, &self.absent]
            .iter()
            .all(|spell| spell.until < from || (ordered_at < spell.since && spell.former_until < from))
    }
}
