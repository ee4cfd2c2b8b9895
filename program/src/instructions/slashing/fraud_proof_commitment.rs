//! Anyone stores the first part of a proof that a measured machine computed wrongly: what the commitment that its node has
//! signed says of one GPU. A fraud proof has no effect until `prove_wrong_cell` completes it.

use anchor_lang::prelude::*;

use crate::constants::{MEASURE_ENTRY_LEN, VERSION};
use crate::errors::MarketError;
use crate::events::FraudProofCommitted;
use crate::seeds;
use crate::signatures::signed_message;
use crate::state::{Commitment, FraudProof, InstantBlock, Market, Node};

/// The instruction before this one verifies the node's signature over the commitment, and holds its bytes.
#[derive(Accounts)]
pub struct FraudProofCommitment {
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

/// `block` is the one that made the commitment's instant: it shows which period was meant.
pub(crate) fn handler(
    ctx: &mut Context<FraudProofCommitment>,
    block: InstantBlock,
    entry: [u8; MEASURE_ENTRY_LEN],
) -> Result<()> {
    let bump = ctx.bumps.fraud_proof;
    let accounts = &mut ctx.accounts;
    let node = *accounts.node.address();
    let (key, signed) = signed_message(&accounts.instructions, -1)?;
    require!(key == accounts.node.node_key, MarketError::InvalidSignature);
    let commitment = Commitment::parse(&signed)?;
    let domain = &accounts.market.domain;
    let sound = commitment.domain == *domain
        && commitment.node == node
        && commitment.instant == block.instant(domain);
    require!(sound, MarketError::InvalidCommitment);
    let entry = commitment.entry(&entry)?;
    let (address, finder) = (*accounts.fraud_proof.address(), *accounts.finder.address());
    let proof = &mut accounts.fraud_proof;
    proof.node = node;
    proof.finder = finder;
    proof.seed = commitment.instant;
    proof.root = entry.rounds_root;
    proof.profile = entry.profile;
    proof.period = block.period;
    proof.rounds = entry.rounds;
    proof.gpu = entry.gpu;
    proof.version = VERSION;
    proof.bump = bump;
    emit!(FraudProofCommitted { fraud_proof: address, node, finder, period: block.period, gpu: entry.gpu });
    Ok(())
}
