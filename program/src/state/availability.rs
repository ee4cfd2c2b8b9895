//! How many GPUs of a node were free, and since when: the last intervals, as proofs of unjust awards need them.
//!
//! Whoever wants a proof to fail could order the better node's GPUs for a second. So what is full does not forget its
//! oldest interval: the shortest two that follow each other become one, with the fewer free GPUs of both. Short orders
//! are merged with each other and leave the longer intervals alone, and what is kept is never more than what was free.

use anchor_lang::prelude::*;

use crate::constants::AVAILABILITY_SECS;
use crate::errors::{MarketError, OrOverflow};

/// Intervals that a node keeps.
pub const INTERVALS: usize = 8;

/// Intervals without a gap, oldest first; the last of them lasts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct Availability {
    /// Start of each interval; 0 where there is none.
    pub since: [i64; INTERVALS],
    /// The fewest GPUs that were free in it.
    pub free: [u8; INTERVALS],
}

impl Availability {
    /// From `now` on so many GPUs are free, after nothing that is known.
    pub fn starting(free: u8, now: i64) -> Self {
        let mut new = Self::default();
        (new.since[0], new.free[0]) = (now, free);
        new
    }

    fn len(&self) -> usize {
        self.since.iter().take_while(|since| **since != 0).count()
    }

    fn since_at(&self, at: usize) -> i64 {
        match self.since.get(at) {
            Some(since) if *since != 0 => *since,
            _ => i64::MAX,
        }
    }

    /// Takes out an interval: the one before it lasts until its end.
    fn remove(&mut self, at: usize) {
        for to in at..INTERVALS {
            let from = to.saturating_add(1);
            let next = (self.since.get(from).copied(), self.free.get(from).copied());
            if let (Some(since), Some(free)) = (self.since.get_mut(to), self.free.get_mut(to)) {
                (*since, *free) = (next.0.unwrap_or(0), next.1.unwrap_or(0));
            }
        }
    }

    /// Makes room: forgets what no proof needs any more, or else merges the two neighbours that are the shortest.
    fn make_room(&mut self, now: i64) {
        while self.len() > 1 && self.since_at(1) < now.saturating_sub(AVAILABILITY_SECS) {
            self.remove(0);
        }
        if self.len() < INTERVALS {
            return;
        }
        let (mut shortest, mut length) = (0, i64::MAX);
        for at in 0..INTERVALS.saturating_sub(1) {
            let long = self.since_at(at.saturating_add(2)).min(now).saturating_sub(self.since_at(at));
            if long < length {
                (shortest, length) = (at, long);
            }
        }
        let next = shortest.saturating_add(1);
        let fewer = self.free.get(next).copied().unwrap_or(0);
        if let Some(free) = self.free.get_mut(shortest) {
            *free = fewer.min(*free);
        }
        self.remove(next);
    }

    /// So many GPUs are free from `now` on. Two changes in one second are two intervals, one of them without length.
    #[inline(never)]
    pub fn change(&mut self, free: u8, now: i64) -> Result<()> {
        self.make_room(now);
        let at = self.len();
        let (since, kept) = (self.since.get_mut(at), self.free.get_mut(at));
        *since.ok_or(MarketError::InvariantBroken)? = now;
        *kept.ok_or(MarketError::InvariantBroken)? = free;
        Ok(())
    }

    /// The fewest GPUs that were free from one second to another, both included; none when it is too long ago. What was
    /// free earlier in the second in which the first interval begins is not known any more.
    pub fn free_throughout(&self, from: i64, to: i64) -> Option<u8> {
        if self.since_at(0) >= from {
            return None;
        }
        let mut fewest = u8::MAX;
        for (at, (since, free)) in self.since.iter().zip(&self.free).enumerate() {
            let end = self.since_at(at.saturating_add(1));
            if *since != 0 && *since <= to && end >= from {
                fewest = fewest.min(*free);
            }
        }
        Some(fewest)
    }

    /// Whether the intervals follow each other and the last one says what is free.
    pub fn is_sound(&self, free: u8) -> Result<bool> {
        let last = self.len().checked_sub(1).or_overflow()?;
        Ok(self.free.get(last) == Some(&free)
            && (0..last).all(|at| self.since_at(at) <= self.since_at(at.saturating_add(1))))
    }
}
