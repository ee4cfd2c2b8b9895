//! Providers: registration, stake, payout address.

pub mod provider_close;
pub mod provider_register;
pub mod provider_request_unstake;
pub mod provider_set_payout;
pub mod provider_stake;
pub mod provider_withdraw_stake;

pub use provider_close::*;
pub use provider_register::*;
pub use provider_request_unstake::*;
pub use provider_set_payout::*;
pub use provider_stake::*;
pub use provider_withdraw_stake::*;
