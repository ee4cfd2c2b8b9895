//! A GPU model: what a node of it must have in stake, and what it is measured by.

use anchor_lang::prelude::*;

use crate::errors::MarketError;

#[account]
pub struct GpuModel {
    /// Stake per GPU, base units of the stake token.
    pub min_stake: u64,
    /// Reference price, µUSDC per GPU-hour.
    pub reference_price: u64,
    /// When it was last written.
    pub since: i64,
    /// UTF-8, padded with zeroes.
    pub name: [u8; 32],
    pub vram_mib: u32,
    /// Dense FP16 TFLOPS × 10.
    pub tflops_x10: u32,
    /// Side of the work proof's matrices.
    pub work_size: u32,
    /// Longest time a work proof of that size may take, milliseconds.
    pub work_bound_ms: u32,
    pub id: u16,
    /// Evidence tier below which a node of this model is not awarded.
    pub min_tier: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 3],
}

impl GpuModel {
    pub fn invariant(&self) -> Result<()> {
        require!(
            self.id != 0 && self.vram_mib > 0 && self.tflops_x10 > 0 && self.min_stake > 0,
            MarketError::InvariantBroken
        );
        Ok(())
    }
}
