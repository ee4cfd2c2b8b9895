//! Events of outages that keepers see.

use anchor_lang::prelude::*;

/// A keeper has not heard the node since its last answer.
#[event]
pub struct OutageVoted {
    pub node: Address,
    pub keeper: Address,
    pub last_answer: i64,
    pub weight: u64,
}

/// The quorum has not: leases may leave the node.
#[event]
pub struct OutageSeen {
    pub node: Address,
    /// The latest of the last answers.
    pub last_answer: i64,
    pub weight: u64,
    pub total_weight: u64,
}

#[event]
pub struct OutageClosed {
    pub node: Address,
}
