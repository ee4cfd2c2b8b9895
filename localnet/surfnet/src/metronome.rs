//! Keeps the chain's clock on wall-clock time.
//!
//! surfpool adds the nominal slot time to its clock with every block, and computes the time of a block without
//! transactions from its slot. Sleeping always takes a little longer than asked and a busy machine skips beats, so that
//! this clock falls behind, and economics that read `Clock.unix_timestamp` with it. Here the beat is kept against
//! absolute deadlines, and the next slot is asked for only after the last was made, so that no backlog can later push
//! the clock ahead.
//!
//! What is still lost is made up by a small time travel over one slot, which has no block, like a slot that its leader
//! missed. surfpool keeps the time at which a travel lands, and computes the times of all later blocks from it, with
//! transactions or without. So times are in order, and the time of a slot never changes, not even while it is open.
//! Travels land on whole seconds, so the clock is corrected when its second is not the wall clock's: at most once a
//! second, which makes 0.4 MB of records an hour on a machine that always loses time. A clock moved on purpose
//! (`surfnet_timeTravel`) is noticed and keeps its offset.
//!
//! Every command to surfpool passes through here. A time travel that a client asks for while lost time is made up
//! therefore comes wholly before or wholly after that, and cannot be undone by it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, Sender, bounded, select};
use surfpool_core::{
    helpers::time_travel::clock_for_slot,
    surfnet::{locker::SurfnetSvmLocker, svm::SurfnetSvm},
};
use surfpool_types::{SerialVmMutationResult, SerialVmMutationTask, SimnetCommand};

/// A difference between the chain's clock and its expected value from which on it was moved on purpose.
const TRAVEL_MS: i64 = 1_000;

/// The chain clock as seen at one beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    /// The open slot.
    slot: u64,
    /// Time at which it began, milliseconds since the epoch.
    opened_ms: i64,
}

impl Reading {
    fn of(svm: &SurfnetSvm) -> Self {
        Reading { slot: svm.get_latest_absolute_slot(), opened_ms: svm.updated_at as i64 }
    }
}

/// What to do at a beat.
#[derive(Debug, PartialEq, Eq)]
enum Beat {
    /// The last slot asked for has not been made yet.
    Wait,
    /// Close the open slot, and open the one after it.
    Advance,
    /// Close the open slot, leave out the one after it, and open `slot` at `at_s`, seconds since the epoch.
    Skip { slot: u64, at_s: i64 },
}

/// What was asked for at the last beat: the slot that was open then, and what follows if nobody moves the clock.
struct Asked {
    open: u64,
    next: Reading,
}

struct Pacer {
    slot_ms: i64,
    /// Chain time minus wall-clock time; not zero after a time travel.
    offset_ms: i64,
    asked: Option<Asked>,
}

impl Pacer {
    fn new(slot_ms: u64) -> Self {
        Pacer { slot_ms: slot_ms as i64, offset_ms: 0, asked: None }
    }

    fn beat(&mut self, wall_ms: i64, now: Reading) -> Beat {
        if let Some(asked) = &self.asked {
            if now.slot == asked.open {
                return Beat::Wait;
            }
            // A time travel closes a block itself before it jumps, hence up to one slot more.
            let slots = now.slot.saturating_sub(asked.next.slot).min(1) as i64;
            let expected = asked.next.opened_ms + slots * self.slot_ms;
            if (now.opened_ms - expected).abs() >= TRAVEL_MS {
                self.offset_ms = now.opened_ms - wall_ms;
            }
        }
        let (beat, next) = match self.skip(wall_ms, now) {
            Some(next) => (Beat::Skip { slot: next.slot, at_s: next.opened_ms / 1_000 }, next),
            None => {
                let next = Reading { slot: now.slot + 1, opened_ms: now.opened_ms + self.slot_ms };
                (Beat::Advance, next)
            }
        };
        self.asked = Some(Asked { open: now.slot, next });
        beat
    }

    /// Where to go on if more than a slot was lost and the next slot would open in a second that is over.
    fn skip(&self, wall_ms: i64, now: Reading) -> Option<Reading> {
        let present_ms = wall_ms + self.offset_ms;
        let next_ms = now.opened_ms + self.slot_ms;
        let second_ms = present_ms - present_ms.rem_euclid(1_000);
        if present_ms - next_ms <= self.slot_ms || second_ms <= next_ms {
            return None;
        }
        // surfpool opens the next slot for a moment at its nominal time. Whoever has read that time must never read
        // another one for the same slot, so the chain goes on at the slot after it.
        Some(Reading { slot: now.slot + 2, opened_ms: second_ms })
    }

    /// What was asked for last did not happen.
    fn refused(&mut self) {
        self.asked = None;
    }
}

/// surfpool has stopped: it takes no commands any more.
struct Stopped;

/// surfpool, as the metronome sees it.
struct Surfpool<'a> {
    locker: &'a SurfnetSvmLocker,
    commands: &'a Sender<SimnetCommand>,
}

impl Surfpool<'_> {
    fn read(&self) -> Reading {
        self.locker.with_svm_reader(Reading::of)
    }

    fn send(&self, command: SimnetCommand) -> Result<(), Stopped> {
        self.commands.send(command).map_err(|_| Stopped)
    }

    /// Waits until all earlier commands were carried out. The metronome is the only sender, so surfpool then stands
    /// still until the next one.
    fn settle(&self) -> Result<(), Stopped> {
        let (reached, wait) = bounded(1);
        self.send(SimnetCommand::ProcessSerialVmMutation(SerialVmMutationTask::new(move || {
            Box::pin(async move {
                let _ = reached.send(());
                SerialVmMutationResult::NoBlock
            })
        })))?;
        wait.recv().map_err(|_| Stopped)
    }

    /// Closes the open slot and opens `slot` at `at_s`; waits until that is done.
    fn skip(&self, slot: u64, at_s: i64) -> Result<Result<(), String>, Stopped> {
        let clock = self.locker.with_svm_reader(|svm| {
            clock_for_slot(slot, at_s, Some(&svm.inner.get_sysvar()), &svm.inner.get_sysvar())
        });
        let (done, wait) = bounded(1);
        self.send(SimnetCommand::UpdateInternalClockWithConfirmation(None, clock, done))?;
        wait.recv().map(|result| result.map(|_| ())).map_err(|_| Stopped)
    }

    fn beat(&self, pacer: &mut Pacer) -> Result<(), Stopped> {
        let mut now = self.read();
        if pacer.skip(wall_clock_ms(), now).is_some() {
            self.settle()?;
            now = self.read();
        }
        match pacer.beat(wall_clock_ms(), now) {
            Beat::Wait => Ok(()),
            Beat::Advance => self.send(SimnetCommand::SlotForward(None)),
            Beat::Skip { slot, at_s } => {
                if let Err(e) = self.skip(slot, at_s)? {
                    eprintln!("the chain's clock could not be corrected, which is tried again: {e}");
                    pacer.refused();
                }
                Ok(())
            }
        }
    }
}

/// Hands on commands from `requests` to `commands`, and asks for one slot every `slot_ms`, until `stop` is closed.
pub fn run(
    slot_ms: u64,
    locker: &SurfnetSvmLocker,
    requests: &Receiver<SimnetCommand>,
    commands: &Sender<SimnetCommand>,
    stop: &Receiver<()>,
) {
    let surfpool = Surfpool { locker, commands };
    let mut pacer = Pacer::new(slot_ms);
    let slot = Duration::from_millis(slot_ms);
    let mut deadline = Instant::now() + slot;
    loop {
        let handed_on = select! {
            recv(stop) -> _ => return,
            recv(requests) -> request => request.map_err(|_| Stopped).and_then(|r| surfpool.send(r)),
            default(deadline.saturating_duration_since(Instant::now())) => Ok(()),
        };
        let now = Instant::now();
        let done = handed_on.and_then(|()| {
            if now < deadline {
                return Ok(());
            }
            // After a stall the lost beats are dropped: the clock makes them up at once, the slots are not repeated.
            deadline = (deadline + slot).max(now);
            // Where every beat is late, requests must not wait for one beat each.
            requests.try_iter().take(requests.len()).try_for_each(|r| surfpool.send(r))?;
            surfpool.beat(&mut pacer)
        });
        if done.is_err() {
            return;
        }
    }
}

fn wall_clock_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer() -> Pacer {
        Pacer::new(50)
    }

    fn at(slot: u64, opened_ms: i64) -> Reading {
        Reading { slot, opened_ms }
    }

    #[test]
    fn a_steady_beat_leaves_the_clock_alone() {
        let mut p = pacer();
        for i in 0..100 {
            let jitter = i % 7;
            assert_eq!(p.beat(10_050 + i * 50 + jitter, at(i as u64, 10_000 + i * 50)), Beat::Advance);
        }
    }

    #[test]
    fn a_slot_that_is_still_being_made_is_not_asked_for_again() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance);
        assert_eq!(p.beat(10_100, at(1, 10_000)), Beat::Wait);
        assert_eq!(p.beat(10_150, at(2, 10_050)), Beat::Advance);
    }

    #[test]
    fn lost_time_is_made_up_once() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance);
        // A stall of 3 s: the slot opened at 10 050 is closed at 13 050.
        assert_eq!(p.beat(13_050, at(2, 10_050)), Beat::Skip { slot: 4, at_s: 13 });
        assert_eq!(p.beat(13_100, at(4, 13_000)), Beat::Advance);
        assert_eq!(p.beat(13_150, at(5, 13_050)), Beat::Advance);
    }

    #[test]
    fn a_skip_that_was_refused_is_asked_for_again_and_no_time_travel() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance);
        assert_eq!(p.beat(13_050, at(2, 10_050)), Beat::Skip { slot: 4, at_s: 13 });
        p.refused();
        assert_eq!(p.beat(13_100, at(3, 10_100)), Beat::Skip { slot: 5, at_s: 13 });
        assert_eq!(p.offset_ms, 0);
    }

    #[test]
    fn within_a_second_the_clock_is_left_alone() {
        let mut p = pacer();
        assert_eq!(p.beat(10_900, at(1, 10_000)), Beat::Advance);
    }

    /// Drives a pacer and the chain that it asks for; returns the slots and their times in milliseconds.
    fn chain(slot_ms: u64, beats: impl Iterator<Item = i64>) -> Vec<(u64, i64)> {
        let mut p = Pacer::new(slot_ms);
        let mut wall = 10_000;
        let mut open = at(1, wall);
        let mut blocks = vec![];
        for lasts in beats {
            wall += lasts;
            blocks.push((open.slot, open.opened_ms));
            open = match p.beat(wall, open) {
                Beat::Wait => panic!("waited"),
                Beat::Advance => at(open.slot + 1, open.opened_ms + slot_ms as i64),
                Beat::Skip { slot, at_s } => {
                    assert_eq!(slot, open.slot + 2, "the slot that opens for a moment is left out");
                    at(slot, at_s * 1_000)
                }
            };
            let late = wall - open.opened_ms;
            assert!(late >= -(slot_ms as i64), "slot {open:?} opens ahead of {wall}");
            assert!(late < 1_000 + 2 * slot_ms as i64, "slot {open:?} opens behind {wall}");
        }
        assert_eq!(p.offset_ms, 0, "what the pacer did itself was taken for a time travel");
        blocks
    }

    #[test]
    fn slow_drift_is_bounded() {
        for slot_ms in [10, 50, 400, 1_000, 7_000] {
            let lasts = slot_ms as i64 + slot_ms as i64 / 15 + 1;
            chain(slot_ms, std::iter::repeat_n(lasts, 10_000));
        }
    }

    #[test]
    fn the_second_is_the_wall_clocks_where_no_beat_is_lost() {
        let mut p = pacer();
        assert_eq!(p.beat(10_950, at(1, 10_000)), Beat::Advance);
        assert_eq!(p.beat(11_000, at(2, 10_050)), Beat::Skip { slot: 4, at_s: 11 });
        for i in 1..100 {
            assert_eq!(p.beat(11_000 + i * 50, at(3 + i as u64, 10_950 + i * 50)), Beat::Advance);
        }
    }

    #[test]
    fn times_are_in_order_whatever_beats_are_lost() {
        let mut seed = 1_u64;
        let beats = std::iter::repeat_with(move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match seed >> 60 {
                0 => (seed >> 32) as i64 % 5_000, // a stall
                1..=4 => 90,
                _ => 50,
            }
        });
        for pair in chain(50, beats.take(100_000)).windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{pair:?}");
        }
    }

    #[test]
    fn time_travel_keeps_its_offset() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance);
        // A travel of an hour at wall-clock 10 080 jumps many slots.
        assert_eq!(p.beat(10_100, at(72_000, 3_610_080)), Beat::Advance);
        assert_eq!(p.beat(10_150, at(72_001, 3_610_130)), Beat::Advance);
        // And lost time after it is made up relative to the new clock.
        assert_eq!(p.beat(12_150, at(72_002, 3_610_180)), Beat::Skip { slot: 72_004, at_s: 3_612 });
        assert_eq!(p.beat(12_200, at(72_004, 3_612_000)), Beat::Advance);
    }
}
