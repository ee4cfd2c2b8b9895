//! Events of the market, its parameters and GPU models.

use anchor_lang::prelude::*;

use crate::state::MeasureProfile;

#[event]
pub struct MarketInitialised {
    pub authority: Address,
    pub payment_mint: Address,
    pub stake_mint: Address,
}

#[event]
pub struct ParamsProposed {
    pub eta: i64,
}

#[event]
pub struct ParamsApplied {
    pub at: i64,
}

#[event]
pub struct MarketPaused {
    pub by: Address,
    pub paused: u8,
}

#[event]
pub struct RolesProposed {
    pub authority: Address,
    pub guardian: Address,
    pub treasury: Address,
    pub eta: i64,
}

#[event]
pub struct RolesApplied {
    pub authority: Address,
    pub guardian: Address,
    pub treasury: Address,
}

#[event]
pub struct GpuModelProposed {
    pub id: u16,
    pub eta: i64,
    pub min_stake: u64,
    pub reference_price: u64,
    pub min_operations: u32,
    pub min_bandwidth: u32,
    pub min_tier: u8,
    pub profile: MeasureProfile,
}

#[event]
pub struct GpuModelApplied {
    pub id: u16,
    pub min_stake: u64,
}
