//! Keeps the chain's clock on wall-clock time.
//!
//! surfpool adds the nominal slot time to its clock with every block. Sleeping always takes a little longer than asked
//! and a busy machine skips beats, so that clock falls behind, and economics that read `Clock.unix_timestamp` with it.
//! Here the beat is kept against absolute deadlines, the next slot is asked for only after the last was made (so that
//! no backlog can later push the clock ahead), and what is still lost is made up before the next block. A clock moved
//! on purpose (`surfnet_timeTravel`) is noticed and keeps its offset.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use surfpool_core::surfnet::locker::SurfnetSvmLocker;
use surfpool_types::SimnetCommand;

/// A difference between the chain's clock and its expected value from which on it was moved on purpose.
const TRAVEL_MS: i64 = 1_000;

/// The chain clock as seen at one beat.
struct Reading {
    slot: u64,
    /// Time at which the open slot began, milliseconds since the epoch.
    opened_ms: i64,
}

/// What to do about the chain clock at a beat.
#[derive(Debug, PartialEq, Eq)]
enum Beat {
    /// The last slot asked for has not been made yet.
    Wait,
    /// Ask for the next slot, after moving the open slot's time on by so many milliseconds (0: as it is).
    Advance { by_ms: i64 },
}

struct Pacer {
    slot_ms: i64,
    /// Chain time minus wall-clock time; not zero after a time travel.
    offset_ms: i64,
    last: Option<Reading>,
}

impl Pacer {
    fn beat(&mut self, wall_ms: i64, now: Reading) -> Beat {
        if let Some(last) = &self.last {
            if now.slot == last.slot {
                return Beat::Wait;
            }
            // A time travel closes a block itself before it jumps, hence up to two slots.
            let slots = (now.slot - last.slot.min(now.slot)).min(2) as i64;
            let expected = last.opened_ms + slots * self.slot_ms;
            if (now.opened_ms - expected).abs() >= TRAVEL_MS {
                self.offset_ms = now.opened_ms - wall_ms;
            }
        }
        // The block closed now opens the next slot at opened + slot_ms, which should be the present.
        let late = wall_ms + self.offset_ms - (now.opened_ms + self.slot_ms);
        let by_ms = if late > self.slot_ms { late } else { 0 };
        self.last = Some(Reading { slot: now.slot, opened_ms: now.opened_ms + by_ms });
        Beat::Advance { by_ms }
    }
}

/// Asks for one slot every `slot_ms` until `stop` is closed.
pub fn run(slot_ms: u64, locker: &SurfnetSvmLocker, commands: &Sender<SimnetCommand>, stop: &Receiver<()>) {
    let mut pacer = Pacer { slot_ms: slot_ms as i64, offset_ms: 0, last: None };
    let slot = Duration::from_millis(slot_ms);
    let mut deadline = std::time::Instant::now() + slot;
    loop {
        match stop.recv_deadline(deadline) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        // After a stall the lost beats are dropped: the clock makes them up at once, the slots are not repeated.
        deadline = (deadline + slot).max(std::time::Instant::now());
        let wall_ms = wall_clock_ms();
        let pacer = &mut pacer;
        let advance = locker.with_svm_writer(move |svm| {
            let reading = Reading { slot: svm.get_latest_absolute_slot(), opened_ms: svm.updated_at as i64 };
            match pacer.beat(wall_ms, reading) {
                Beat::Wait => false,
                Beat::Advance { by_ms } => {
                    svm.updated_at += by_ms as u64;
                    true
                }
            }
        });
        if advance && commands.send(SimnetCommand::SlotForward(None)).is_err() {
            return; // the engine has stopped
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
        Pacer { slot_ms: 50, offset_ms: 0, last: None }
    }

    fn at(slot: u64, opened_ms: i64) -> Reading {
        Reading { slot, opened_ms }
    }

    #[test]
    fn a_steady_beat_leaves_the_clock_alone() {
        let mut p = pacer();
        for i in 0..100 {
            let jitter = i % 7;
            assert_eq!(
                p.beat(10_050 + i * 50 + jitter, at(i as u64, 10_000 + i * 50)),
                Beat::Advance { by_ms: 0 }
            );
        }
    }

    #[test]
    fn a_slot_that_is_still_being_made_is_not_asked_for_again() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance { by_ms: 0 });
        assert_eq!(p.beat(10_100, at(1, 10_000)), Beat::Wait);
    }

    #[test]
    fn lost_time_is_made_up_once() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance { by_ms: 0 });
        // A stall of 3 s: the slot opened at 10 050 is closed at 13 050.
        assert_eq!(p.beat(13_050, at(2, 10_050)), Beat::Advance { by_ms: 2_950 });
        assert_eq!(p.beat(13_100, at(3, 13_050)), Beat::Advance { by_ms: 0 });
    }

    #[test]
    fn slow_drift_is_bounded_by_two_slots() {
        let mut p = pacer();
        let (mut wall, mut chain) = (10_050, 10_000);
        for slot in 1..10_000 {
            let Beat::Advance { by_ms } = p.beat(wall, at(slot, chain)) else { panic!("waited") };
            chain += by_ms + 50;
            assert!((wall - chain).abs() <= 100, "chain {chain} at {wall}");
            wall += 53;
        }
    }

    #[test]
    fn time_travel_keeps_its_offset() {
        let mut p = pacer();
        assert_eq!(p.beat(10_050, at(1, 10_000)), Beat::Advance { by_ms: 0 });
        // A travel of an hour at wall-clock 10 080 jumps many slots.
        assert_eq!(p.beat(10_100, at(72_000, 3_610_080)), Beat::Advance { by_ms: 0 });
        assert_eq!(p.beat(10_150, at(72_001, 3_610_130)), Beat::Advance { by_ms: 0 });
        // And lost time after it is made up relative to the new clock.
        assert_eq!(p.beat(12_150, at(72_002, 3_610_180)), Beat::Advance { by_ms: 1_900 });
    }
}
