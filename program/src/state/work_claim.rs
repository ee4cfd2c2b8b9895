//! The work claim: a node's signed record of the Merkle root of a matrix product. The layout is in
//! docs/protocol/README.md.

use anchor_lang::prelude::*;

use crate::constants::{WORK_CHUNK, WORK_CLAIM_LEN, WORK_MAX_ORDER, WORK_TAG};
use crate::errors::MarketError;

/// The bytes of a work claim by field, integers little-endian.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct WorkClaimBytes {
    tag: [u8; 8],
    domain: [u8; 8],
    node: [u8; 32],
    period: [u8; 8],
    seed: [u8; 32],
    order: [u8; 4],
    reserved: [u8; 4],
    root: [u8; 32],
}

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
        let bytes: &WorkClaimBytes = bytemuck::cast_ref(data);
        let claim = Self {
            domain: bytes.domain,
            node: Address::new_from_array(bytes.node),
            period: u64::from_le_bytes(bytes.period),
            seed: bytes.seed,
            order: u32::from_le_bytes(bytes.order),
            root: bytes.root,
        };
        let sound = bytes.tag == WORK_TAG
            && bytes.reserved == [0; 4]
            && (WORK_CHUNK..=WORK_MAX_ORDER).contains(&claim.order)
            && claim.order.is_multiple_of(WORK_CHUNK);
        require!(sound, MarketError::InvalidWorkClaim);
        Ok(claim)
    }
}
