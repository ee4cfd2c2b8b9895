//! Sealed auctions of orders.

pub mod auction_award;
pub mod auction_close;
pub mod auction_open;

pub use auction_award::*;
pub use auction_close::*;
pub use auction_open::*;
