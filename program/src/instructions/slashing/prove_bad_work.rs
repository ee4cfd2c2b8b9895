//! Convicts a node of a wrong work claim, without a vote: the program follows the entry to the claimed root and computes
//! the right value itself. The fault that follows has no appeal: it may be applied at once, and compensates the leases
//! that have paid since the machine was last known to be good.
//! Nobody but the owner loses by it, and nobody gains: see bad_work.rs.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use super::bad_work::{convict, require_fresh};
use crate::constants::WORK_CHUNK;
use crate::errors::MarketError;
use crate::events::BadWorkProven;
use crate::math::merkle::climb;
use crate::math::periods::period_of;
use crate::math::work::cell;
use crate::seeds;
use crate::state::{Fault, FraudProof, Market, Node, Provider, PROOF_ENTRY};

#[derive(Accounts)]
pub struct ProveBadWork {
    #[account(mut, address = fraud_proof.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    pub market: Account<Market>,
    #[account(mut, close = finder)]
    pub fraud_proof: Account<FraudProof>,
    #[account(mut, address = fraud_proof.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        init,
        payer = finder,
        seeds = [seeds::WORK_FAULT, fraud_proof.address().as_ref(), &fraud_proof.period.to_le_bytes()],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// Whether the chunk lies at its place under the claimed root. The order of the product fixes the shape of the row's
/// tree and of the tree over the rows, so that a path of another shape does not lead there.
fn claimed(fraud_proof: &FraudProof, siblings: &[[u8; 32]]) -> bool {
    let chunks = fraud_proof.order / WORK_CHUNK;
    let mut rest = siblings.iter();
    let root = climb(fraud_proof.chunk, fraud_proof.column / WORK_CHUNK, chunks, &mut rest)
        .and_then(|row| climb(row, fraud_proof.row, fraud_proof.order, &mut rest));
    root == Some(fraud_proof.root) && rest.next().is_none()
}

/// The entry as it should be.
fn validate(accounts: &ProveBadWork, siblings: &[[u8; 32]], period: u64) -> Result<i32> {
    let fraud_proof = &accounts.fraud_proof;
    require!(fraud_proof.kind == PROOF_ENTRY, MarketError::InvalidProof);
    require_fresh(&accounts.market, &accounts.node, fraud_proof.period, period)?;
    require!(claimed(fraud_proof, siblings), MarketError::InvalidProof);
    let right = cell(&fraud_proof.seed, fraud_proof.order, fraud_proof.row, fraud_proof.column);
    require!(right != fraud_proof.claimed, MarketError::WorkIsRight);
    Ok(right)
}

pub(crate) fn handler(ctx: &mut Context<ProveBadWork>, siblings: Vec<[u8; 32]>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let period = period_of(now, ctx.accounts.market.params.period_secs)?;
    let right = validate(&ctx.accounts, &siblings, period)?;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let fraud_proof = &accounts.fraud_proof;
    emit!(BadWorkProven {
        node: fraud_proof.node,
        provider: *accounts.provider.address(),
        finder: *accounts.finder.address(),
        fault: *accounts.fault.address(),
        period: fraud_proof.period,
        row: fraud_proof.row,
        column: fraud_proof.column,
        claimed: fraud_proof.claimed,
        right,
    });
    let subject: (&mut Node, &mut Provider) = (&mut accounts.node, &mut accounts.provider);
    convict(&accounts.market, &accounts.fraud_proof, subject, &mut accounts.fault, (bump, now))
}
