//! Which mutant is switched on: tests write its number into a field of the clock that nothing else reads.

use anchor_lang::prelude::*;

#[inline(never)]
pub fn active(number: u64) -> bool {
    Clock::get().is_ok_and(|clock| clock.leader_schedule_epoch == number)
}
