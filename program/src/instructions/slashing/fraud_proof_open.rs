//! Anyone stores the first half of a fraud proof: a node's signed work claim and the chunk that holds a wrong entry.
//! Only the signature is checked here; a fraud proof has no effect until `prove_bad_work` completes it.

use anchor_lang::prelude::*;

use crate::constants::{VERSION, WORK_CHUNK, WORK_CHUNK_LEN, WORK_CLAIM_LEN};
use crate::errors::{MarketError, OrOverflow};
use crate::events::FraudProofOpened;
use crate::math::bytes::take;
use crate::math::hash::sha256_of;
use crate::seeds;
use crate::signatures::require_signed;
use crate::state::{FraudProof, Market, Node, WorkClaim};

/// The instruction before this one verifies the node's signature over the work claim.
#[derive(Accounts)]
pub struct FraudProofOpen {
    #[account(mut)]
    pub finder: Signer,
    pub market: Account<Market>,
    pub node: Account<Node>,
    #[account(
        init,
        payer = finder,
        seeds = [seeds::FRAUD_PROOF, node.address().as_ref(), finder.address().as_ref()],
        bump
    )]
    pub fraud_proof: Account<FraudProof>,
    pub instructions: Sysvar<SysvarInstructions>,
    pub system_program: Program<System>,
}

fn validate(accounts: &FraudProofOpen, work_claim: &[u8; WORK_CLAIM_LEN]) -> Result<WorkClaim> {
    require_signed(&accounts.instructions, -1, &accounts.node.node_key, work_claim)?;
    let claim = WorkClaim::parse(work_claim)?;
    require!(
        claim.domain == accounts.market.domain && claim.node == *accounts.node.address(),
        MarketError::InvalidWorkClaim
    );
    Ok(claim)
}

pub(crate) fn handler(
    ctx: &mut Context<FraudProofOpen>,
    work_claim: [u8; WORK_CLAIM_LEN],
    row: u16,
    column: u16,
    chunk: [u8; WORK_CHUNK_LEN],
) -> Result<()> {
    let claim = validate(&ctx.accounts, &work_claim)?;
    let (row, column) = (row as u32, column as u32);
    require!(row < claim.order && column < claim.order, MarketError::InvalidProof);
    let entry = (column % WORK_CHUNK).checked_mul(4).or_overflow()?;
    let bump = ctx.bumps.fraud_proof;
    let accounts = &mut ctx.accounts;
    let address = *accounts.fraud_proof.address();
    let finder = *accounts.finder.address();
    let fraud_proof = &mut accounts.fraud_proof;
    fraud_proof.node = claim.node;
    fraud_proof.finder = finder;
    fraud_proof.seed = claim.seed;
    fraud_proof.root = claim.root;
    fraud_proof.chunk = sha256_of(&[&[0], &chunk]);
    fraud_proof.period = claim.period;
    fraud_proof.order = claim.order;
    fraud_proof.row = row;
    fraud_proof.column = column;
    fraud_proof.claimed = i32::from_le_bytes(take(&chunk, entry as usize)?);
    fraud_proof.version = VERSION;
    fraud_proof.bump = bump;
    emit!(FraudProofOpened {
        fraud_proof: address,
        node: claim.node,
        finder,
        period: claim.period,
        row,
        column,
    });
    Ok(())
}
