//! Customers' prepaid balances and their session keys.

pub mod credits_close;
pub mod credits_deposit;
pub mod credits_set_session_key;
pub mod credits_withdraw;

pub use credits_close::*;
pub use credits_deposit::*;
pub use credits_set_session_key::*;
pub use credits_withdraw::*;
