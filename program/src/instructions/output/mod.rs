//! Outputs of redundant orders: committed, revealed, resolved.

pub mod output_commit;
pub mod output_resolve;
pub mod output_reveal;

pub use output_commit::*;
pub use output_resolve::*;
pub use output_reveal::*;
