//! Bugs planted on purpose, for the tests that must find them. Only the feature `planted-bugs` compiles them in; no
//! build that is released or committed has it, and without it `planted!` is its last argument.

/// `planted!(N, wrong, right)` is `right`, or `wrong` in a build with planted bugs while bug N is switched on.
#[cfg(not(all(feature = "planted-bugs", target_os = "solana")))]
macro_rules! planted {
    ($number:literal, $wrong:expr, $right:expr) => {
        $right
    };
}

#[cfg(all(feature = "planted-bugs", target_os = "solana"))]
macro_rules! planted {
    ($number:literal, $wrong:expr, $right:expr) => {
        if $crate::planted::active($number) {
            $wrong
        } else {
            $right
        }
    };
}

pub(crate) use planted;

/// Whether this bug is switched on: tests write its number into a field of the clock that nothing else reads.
#[cfg(all(feature = "planted-bugs", target_os = "solana"))]
#[inline(never)]
pub fn active(number: u64) -> bool {
    use anchor_lang::prelude::*;
    Clock::get().is_ok_and(|clock| clock.leader_schedule_epoch == number)
}
