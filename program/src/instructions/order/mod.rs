//! Orders, from creation to award, cancellation or expiry.

pub mod award;
pub mod order_award;
pub mod order_cancel;
pub mod order_create;
pub mod order_expire;
pub mod order_reopen;

pub use order_award::*;
pub use order_cancel::*;
pub use order_create::*;
pub use order_expire::*;
pub use order_reopen::*;
