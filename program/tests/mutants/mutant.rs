//! Which mutant is switched on. On a chain tests write its number into a field of the clock that nothing else reads.

#[cfg(target_os = "solana")]
use anchor_lang::prelude::*;

#[cfg(target_os = "solana")]
#[inline(never)]
pub fn active(number: u64) -> bool {
    Clock::get().is_ok_and(|clock| clock.leader_schedule_epoch == number)
}

#[cfg(not(target_os = "solana"))]
extern crate std;

/// Tests call some functions of the program on the host: there the number is the one that switches it on on their chains.
#[cfg(not(target_os = "solana"))]
pub fn active(number: u64) -> bool {
    static ON: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("GANTRY_MUTANT").ok()?.parse().ok()) == Some(number)
}
