//! The 128-byte record with which a node commits to a matrix product. The layout is in docs/protocol/README.md.

use anchor_lang::prelude::*;

use crate::constants::{WORK_CHUNK, WORK_CLAIM_LEN, WORK_MAX_ORDER, WORK_TAG};
use crate::errors::MarketError;
use crate::math::bytes::take;

#[derive(Clone, Copy)]
pub struct WorkClaim {
    pub domain: [u8; 8],
    pub node: Address,
    pub period: u64,
    pub seed: [u8; 32],
    /// Side of the matrices: a multiple of 32.
    pub order: u32,
    pub root: [u8; 32],
}

impl WorkClaim {
    pub fn parse(data: &[u8; WORK_CLAIM_LEN]) -> Result<Self> {
        let tag: [u8; 8] = take(data, 0)?;
        let reserved: [u8; 4] = take(data, 92)?;
        let commitment = Self {
            domain: take(data, 8)?,
            node: Address::new_from_array(take(data, 16)?),
            period: u64::from_le_bytes(take(data, 48)?),
            seed: take(data, 56)?,
            order: u32::from_le_bytes(take(data, 88)?),
            root: take(data, 96)?,
        };
        let sound = tag == WORK_TAG
            && reserved == [0; 4]
            && (WORK_CHUNK..=WORK_MAX_ORDER).contains(&commitment.order)
            && commitment.order.is_multiple_of(WORK_CHUNK);
        require!(sound, MarketError::InvalidWorkClaim);
        Ok(commitment)
    }
}
