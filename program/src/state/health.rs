//! A machine that keepers found to be unhealthy: it gets no new orders until a report says otherwise, or for two periods.
//!
//! Only a final report says so. Whoever holds such a leaf back could apply it when an order comes that another node is to
//! have. So it counts for orders that are placed after it was applied, in awards as in proofs that an award was unjust. A
//! node that was away by the keepers' votes counts as unhealthy for a while too: see state/outage.rs.

use anchor_lang::prelude::*;

use crate::constants::UNHEALTHY_PERIODS;
use crate::errors::OrOverflow;
use crate::math::periods::period_end;
use crate::state::Node;

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

    /// Whether its health lets it have work at `now` that was ordered at `ordered_at`.
    pub fn healthy_for(&self, ordered_at: i64, now: i64) -> bool {
        now >= self.unhealthy.until || ordered_at < self.unhealthy.since
    }

    /// Whether its health let it have the order's work from `from` until the award.
    pub fn healthy_throughout(&self, from: i64, ordered_at: i64) -> bool {
        let spell = &self.unhealthy;
        spell.until < from || (ordered_at < spell.since && spell.former_until < from)
    }
}
