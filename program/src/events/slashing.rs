//! Events of faults, slashes and proofs.

use anchor_lang::prelude::*;

use crate::state::MeasureProfile;

#[event]
pub struct FaultOpened {
    pub fault: Address,
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    pub flags: u16,
    /// Reserved for it.
    pub amount: u64,
    /// The first second that it is about.
    pub window_from: i64,
    pub applicable_at: i64,
}

#[event]
pub struct FaultAppealed {
    pub fault: Address,
    pub keeper: Address,
    pub flag: u16,
    pub weight: u64,
}

#[event]
pub struct FaultVoided {
    pub fault: Address,
    pub node: Address,
}

#[event]
pub struct SlashApplied {
    pub fault: Address,
    pub provider: Address,
    pub amount: u64,
    /// Waits for the claims of leases.
    pub pool: u64,
    pub finder: u64,
    pub burned: u64,
    pub claims_until: i64,
}

#[event]
pub struct SlashCompensated {
    pub fault: Address,
    pub lease: Address,
    pub customer: Address,
    /// Base units of the stake token.
    pub amount: u64,
}

#[event]
pub struct SlashClosed {
    pub fault: Address,
    /// Of the pool, what nobody claimed.
    pub burned: u64,
}

#[event]
pub struct FraudProofClosed {
    pub fraud_proof: Address,
}

/// What a node has committed to of one GPU is stored.
#[event]
pub struct FraudProofCommitted {
    pub fraud_proof: Address,
    pub node: Address,
    pub finder: Address,
    pub period: u64,
    pub gpu: u8,
}

#[event]
pub struct FraudProofLeafAdded {
    pub fraud_proof: Address,
    pub round: u32,
    pub leaf: u32,
    pub group: u8,
    pub claimed: u8,
}

/// A byte of a measurement is wrong. What it costs, and who gets what of it, is said by the fault.
#[event]
pub struct WrongCellProven {
    pub node: Address,
    pub provider: Address,
    /// Who brought the proof. It has no part of the slash.
    pub finder: Address,
    pub fault: Address,
    pub period: u64,
    pub round: u32,
    /// Of the round.
    pub leaf: u32,
    pub gpu: u8,
    /// Place of the byte in its leaf.
    pub group: u8,
    pub claimed: u8,
    pub right: u8,
    /// What the machine was asked for.
    pub profile: MeasureProfile,
}

#[event]
pub struct EquivocationProven {
    pub keeper: Address,
    pub finder: Address,
    pub node: Address,
    pub lease: Address,
    pub period: u64,
    /// Of the check; 0 says that two manifests of the period were shown: then node, lease and second are zero.
    pub kind: u8,
    pub checked_at: i64,
    pub amount: u64,
    pub finder_share: u64,
    pub burned: u64,
}

#[event]
pub struct UnjustAwardProven {
    pub lease: Address,
    pub keeper: Address,
    pub finder: Address,
    pub better: Address,
    pub awarded_score: u64,
    pub better_score: u64,
    /// Of the lease from then on, µUSDC per GPU-hour.
    pub price: u64,
    /// Seconds that keep what they cost before, and what that is, µUSDC.
    pub served_secs: u32,
    pub served: u64,
    pub amount: u64,
    pub finder_share: u64,
    pub burned: u64,
}

/// A part of a slash waits for its beneficiary.
#[event]
pub struct PayoutCredited {
    pub payout: Address,
    pub beneficiary: Address,
    pub source: Address,
    pub amount: u64,
    pub payable_at: i64,
}

#[event]
pub struct PayoutClaimed {
    pub payout: Address,
    pub beneficiary: Address,
    pub source: Address,
    pub amount: u64,
}
