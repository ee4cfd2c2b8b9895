//! The framework of the program: Anchor, with what its macros repeat in every instruction out of line.
//!
//! The program depends on this crate under the name `anchor_lang`, which is what Anchor's macros write. Names that are
//! defined here win over Anchor's. Each does what Anchor's does, with the same result; only the code is there once. One does
//! something else: `cpi::rent_exempt_lamports`.

#![no_std]

mod addresses;
#[cfg(target_os = "solana")]
mod derive;
mod log;
mod run;

pub use addresses::{
    find_and_verify_program_address, find_and_verify_program_address_skip_curve, find_program_address,
    verify_program_address,
};
pub use anchor::*;
pub use log::log_event;
pub use run::run_handler;

/// Calls of other programs. One name is not Anchor's.
pub mod cpi {
    pub use anchor::cpi::*;

    /// What `init_if_needed` asks of an account that is there already: nothing. Anchor asks for today's rent. When rent
    /// rises, nobody could deposit to an account, or vote on a report, that was opened before. New accounts pay today's
    /// rent: Anchor creates them by its own function.
    #[inline(always)]
    pub fn rent_exempt_lamports(_space: usize) -> anchor::Result<u64> {
        Ok(0)
    }
}

/// The program that owns the accounts of a type. Another trait than Anchor's on purpose: that one has Anchor's own check of
/// an account in its wake, which is inlined; `accounts!` of the program implements a check that is not.
pub trait Owner {
    const OWNER: Address;
}

/// What modules import.
pub mod prelude {
    pub use super::{emit, find_program_address, run_handler, Owner};
    pub use anchor::prelude::*;
}
