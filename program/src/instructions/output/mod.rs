//! Outputs of redundant orders: committed, revealed, resolved; what a withheld one forfeits.

pub mod output_commit;
pub mod output_forfeit;
pub mod output_resolve;
pub mod output_reveal;

pub use output_commit::*;
pub use output_forfeit::*;
pub use output_resolve::*;
pub use output_reveal::*;
