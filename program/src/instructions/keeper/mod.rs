//! Keepers: bond, signer, activation, suspension, exit.

pub mod keeper_activate;
pub mod keeper_register;
pub mod keeper_request_exit;
pub mod keeper_set_signer;
pub mod keeper_suspend;
pub mod keeper_update;
pub mod keeper_withdraw;

pub use keeper_activate::*;
pub use keeper_register::*;
pub use keeper_request_exit::*;
pub use keeper_set_signer::*;
pub use keeper_suspend::*;
pub use keeper_update::*;
pub use keeper_withdraw::*;
