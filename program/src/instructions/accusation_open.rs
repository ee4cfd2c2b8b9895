//! Anyone stores the first half of a proof of bad work: a node's signed commitment and the chunk that holds a wrong entry.
//! Nothing is judged here but the signature; an accusation without its second half harms nobody.

use anchor_lang::prelude::*;

use crate::constants::{COMMITMENT_LEN, VERSION, WORK_CHUNK, WORK_CHUNK_LEN};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::AccusationOpened;
use crate::math::bytes::take;
use crate::math::hash::sha256_of;
use crate::seeds;
use crate::signatures::require_signed;
use crate::state::{Accusation, Commitment, Market, NodeAccount};

/// The instruction before this one verifies the node's signature over the commitment.
#[derive(Accounts)]
pub struct AccusationOpen {
    #[account(mut)]
    pub finder: Signer,
    pub market: Account<Market>,
    pub node: NodeAccount,
    #[account(
        init,
        payer = finder,
        seeds = [seeds::ACCUSATION, node.address().as_ref(), finder.address().as_ref()],
        bump
    )]
    pub accusation: Account<Accusation>,
    pub instructions: Sysvar<SysvarInstructions>,
    pub system_program: Program<System>,
}

fn validate(accounts: &AccusationOpen, commitment: &[u8; COMMITMENT_LEN]) -> Result<Commitment> {
    require_signed(&accounts.instructions, -1, &accounts.node.node_key, commitment)?;
    let parsed = Commitment::parse(commitment)?;
    if parsed.domain != accounts.market.domain || parsed.node != *accounts.node.address() {
        return fail(MarketError::InvalidCommitment);
    }
    Ok(parsed)
}

pub fn handler(
    ctx: &mut Context<AccusationOpen>,
    commitment: [u8; COMMITMENT_LEN],
    row: u16,
    column: u16,
    chunk: [u8; WORK_CHUNK_LEN],
) -> Result<()> {
    let commitment = validate(&ctx.accounts, &commitment)?;
    let (row, column) = (row as u32, column as u32);
    if row >= commitment.order || column >= commitment.order {
        return fail(MarketError::InvalidProof);
    }
    let entry = (column % WORK_CHUNK).checked_mul(4).or_overflow()?;
    let bump = ctx.bumps.accusation;
    let accounts = &mut ctx.accounts;
    let address = *accounts.accusation.address();
    let finder = *accounts.finder.address();
    let accusation = &mut accounts.accusation;
    accusation.node = commitment.node;
    accusation.finder = finder;
    accusation.seed = commitment.seed;
    accusation.root = commitment.root;
    accusation.chunk = sha256_of(&[&[0], &chunk]);
    accusation.period = commitment.period;
    accusation.order = commitment.order;
    accusation.row = row;
    accusation.column = column;
    accusation.claimed = i32::from_le_bytes(take(&chunk, entry as usize)?);
    accusation.version = VERSION;
    accusation.bump = bump;
    emit!(AccusationOpened {
        accusation: address,
        node: commitment.node,
        finder,
        period: commitment.period,
        row,
        column,
    });
    Ok(())
}
