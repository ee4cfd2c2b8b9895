//! Events of keepers and their bonds.

use anchor_lang::prelude::*;

#[event]
pub struct KeeperRegistered {
    pub keeper: Address,
    pub wallet: Address,
    pub signer: Address,
    pub bond: u64,
}

#[event]
pub struct KeeperSignerSet {
    pub keeper: Address,
    pub signer: Address,
    pub former_signer: Address,
    /// Until then the bond answers for the former signer as well.
    pub until: i64,
}

#[event]
pub struct KeeperUpdated {
    pub keeper: Address,
}

#[event]
pub struct KeeperActivated {
    pub keeper: Address,
    pub index: u16,
    pub weight: u64,
    pub total_weight: u64,
}

#[event]
pub struct KeeperSuspended {
    pub keeper: Address,
    /// Reports that became final since it last voted in time.
    pub reports: u64,
    pub total_weight: u64,
}

#[event]
pub struct KeeperExitRequested {
    pub keeper: Address,
    pub exit_at: i64,
}

#[event]
pub struct KeeperWithdrawn {
    pub keeper: Address,
    pub amount: u64,
}
