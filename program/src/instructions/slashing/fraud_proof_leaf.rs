//! The finder adds the leaf that has a wrong byte to the commitment that it stored, with the first siblings of the leaf's
//! path. A leaf that was added before is replaced: nothing is checked until `prove_wrong_cell`.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::{MAX_PROOF, MEASURE_LEAF_LEN};
use crate::errors::MarketError;
use crate::events::FraudProofLeafAdded;
use crate::math::merkle::root_of;
use crate::state::FraudProof;

#[derive(Accounts)]
pub struct FraudProofLeaf {
    #[account(address = fraud_proof.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    #[account(mut)]
    pub fraud_proof: Account<FraudProof>,
}

/// Where in the commitment the wrong byte is.
#[derive(Clone, Copy, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct CellPlace {
    pub round: u32,
    /// Root of the round before, zero for round 0.
    pub before: [u8; 32],
    /// Of the round, row by row.
    pub leaf: u32,
    /// Place of the byte in the leaf.
    pub group: u8,
}

pub(crate) fn handler(
    ctx: &mut Context<FraudProofLeaf>,
    place: CellPlace,
    leaf: [u8; MEASURE_LEAF_LEN],
    siblings: Vec<[u8; 32]>,
) -> Result<()> {
    let address = *ctx.accounts.fraud_proof.address();
    let proof = &mut ctx.accounts.fraud_proof;
    require!(siblings.len() <= MAX_PROOF, MarketError::InvalidProof);
    let claimed = leaf.get(place.group as usize).ok_or(MarketError::InvalidProof)?;
    proof.claimed = *claimed as i32;
    proof.round = place.round;
    proof.before = place.before;
    proof.row = place.leaf;
    proof.column = place.group as u32;
    proof.chunk = root_of(&leaf, place.leaf, &siblings);
    proof.level = siblings.len() as u8;
    emit!(FraudProofLeafAdded {
        fraud_proof: address,
        round: place.round,
        leaf: place.leaf,
        group: place.group,
        claimed: *claimed,
    });
    Ok(())
}
