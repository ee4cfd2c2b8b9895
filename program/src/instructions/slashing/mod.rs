//! Faults with their appeals, and proofs that take stake or bond.

mod bad_work;
pub mod fault_open;
pub mod fraud_proof_close;
pub mod fraud_proof_commitment;
pub mod fraud_proof_leaf;
pub mod payout_claim;
pub mod prove_better_ask;
pub mod prove_equivocation;
pub mod prove_omitted_bid;
pub mod prove_wrong_cell;
pub mod slash_appeal;
pub mod slash_apply;
pub mod slash_close;
pub mod slash_compensate;
pub mod unjust;

pub use fault_open::*;
pub use fraud_proof_close::*;
pub use fraud_proof_commitment::*;
pub use fraud_proof_leaf::*;
pub use payout_claim::*;
pub use prove_better_ask::*;
pub use prove_equivocation::*;
pub use prove_omitted_bid::*;
pub use prove_wrong_cell::*;
pub use slash_appeal::*;
pub use slash_apply::*;
pub use slash_close::*;
pub use slash_compensate::*;
