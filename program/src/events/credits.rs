//! Events of customers' credits and session keys.

use anchor_lang::prelude::*;

#[event]
pub struct CreditsDeposited {
    pub customer: Address,
    pub amount: u64,
    pub balance: u64,
}

#[event]
pub struct CreditsWithdrawn {
    pub customer: Address,
    pub amount: u64,
    pub balance: u64,
}

#[event]
pub struct CreditsClosed {
    pub customer: Address,
}

/// A cap of 0 removes the key.
#[event]
pub struct SessionKeySet {
    pub customer: Address,
    pub key: Address,
    pub cap: u64,
    pub expiry: i64,
}
