//! What the GPUs of a model are measured by: docs/protocol/measurement.md.

use anchor_lang::prelude::*;

use crate::constants::{
    MEASURE_LEAF_LEN, MEASURE_MAX_GROUP, MEASURE_MAX_LANES, MEASURE_MAX_MS, MEASURE_MAX_ROUNDS,
    MEASURE_ORDERS, MEASURE_ROWS,
};
use crate::errors::{MarketError, OrOverflow};
use crate::math::hash::sha256_of;
use crate::math::measure::tag;
use crate::state::gpu_model::within_step;

#[repr(C)]
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    bytemuck::Pod,
    bytemuck::Zeroable,
    AnchorSerialize,
    AnchorDeserialize,
    IdlType,
)]
pub struct MeasureProfile {
    /// Columns of each product and its inner length.
    pub order: u32,
    /// Rows of a round's product.
    pub rows: u32,
    /// How long rounds are begun, milliseconds.
    pub chain_ms: u32,
    /// Rounds that stay in memory.
    pub resident: u32,
    /// How long walks are begun, milliseconds.
    pub walk_ms: u32,
    /// Walks side by side.
    pub lanes: u32,
    /// Neighbouring columns that a mix byte is made of.
    pub fold: u8,
    pub pad: [u8; 3],
}

impl MeasureProfile {
    /// The bounds of the format, and of the time that a machine is kept busy.
    pub fn validate(&self) -> Result<()> {
        let sound = self.order.is_power_of_two()
            && MEASURE_ORDERS.contains(&self.order)
            && (self.fold == 2 || self.fold == 4)
            && (self.fold as u32).checked_mul(self.order).or_overflow()? <= MEASURE_MAX_GROUP
            && self.rows.is_power_of_two()
            && MEASURE_ROWS.contains(&self.rows)
            && (1..=MEASURE_MAX_ROUNDS).contains(&self.resident)
            && self.lanes.is_power_of_two()
            && self.lanes <= MEASURE_MAX_LANES
            && (1..=MEASURE_MAX_MS).contains(&self.chain_ms)
            && (1..=MEASURE_MAX_MS).contains(&self.walk_ms)
            && self.pad == [0; 3];
        require!(sound, MarketError::ParameterOutOfRange);
        Ok(())
    }

    /// Whether this profile asks for as much as `old` does, or for one step more or less: of memory, and of time.
    pub fn near(&self, old: &Self) -> Result<bool> {
        Ok(within_step(self.memory()?, old.memory()?)
            && within_step(self.chain_ms as u64, old.chain_ms as u64)
            && within_step(self.walk_ms as u64, old.walk_ms as u64))
    }

    /// What nonces and entries name it by.
    pub fn hash(&self) -> [u8; 32] {
        sha256_of(&[
            &tag(b"profile"),
            &self.order.to_le_bytes(),
            &[self.fold],
            &self.rows.to_le_bytes(),
            &self.chain_ms.to_le_bytes(),
            &self.resident.to_le_bytes(),
            &self.walk_ms.to_le_bytes(),
            &self.lanes.to_le_bytes(),
        ])
    }

    /// Bytes that the rounds take which stay in memory.
    pub fn memory(&self) -> Result<u64> {
        let slot = (self.rows as u64).checked_mul(self.order as u64).or_overflow()?;
        slot.checked_mul(self.resident as u64).or_overflow()
    }

    /// Leaves of one row; nothing where the profile is not valid.
    pub fn row_leaves(&self) -> Option<u32> {
        self.order.checked_div((self.fold as u32).checked_mul(MEASURE_LEAF_LEN as u32)?)
    }

    /// Leaves of a round's tree, a power of two.
    pub fn leaves(&self) -> Option<u32> {
        self.rows.checked_mul(self.row_leaves()?)
    }
}
