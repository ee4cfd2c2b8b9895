//! Convicts a node of a wrong byte in a measurement that it signed, without a vote: the program follows the leaf to the
//! root over rounds, and computes one row, the byte's columns and the byte itself. What follows from it is in bad_work.rs.
//!
//! The entry must name the profile of the node's model, or the one before it. What names another is nothing that the
//! program could compute, and nothing that a keeper takes for a measurement.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use super::bad_work::{convict, require_fresh};
use crate::constants::MEASURE_LEAF_LEN;
use crate::errors::{MarketError, OrOverflow};
use crate::events::WrongCellProven;
use crate::math::hash::sha256_of;
use crate::math::measure::{mix, tag};
use crate::math::merkle::climb;
use crate::math::periods::period_of;
use crate::seeds;
use crate::state::{Fault, FraudProof, GpuModel, Market, MeasureProfile, Node, Provider};

#[derive(Accounts)]
pub struct ProveWrongCell {
    #[account(mut, address = fraud_proof.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    pub market: Account<Market>,
    #[account(mut, close = finder)]
    pub fraud_proof: Account<FraudProof>,
    #[account(mut, address = fraud_proof.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(
        init,
        payer = finder,
        seeds = [seeds::WORK_FAULT, fraud_proof.address().as_ref(), &fraud_proof.period.to_le_bytes()],
        bump
    )]
    pub fault: Account<Fault>,
    pub system_program: Program<System>,
}

/// Whether the leaf lies at its place under the committed root. `siblings` are the rest of the path in the round's tree,
/// then the path in the tree over rounds; both trees' shapes are fixed by the profile and the number of rounds.
fn committed(proof: &FraudProof, profile: &MeasureProfile, siblings: &[[u8; 32]]) -> bool {
    let (Some(leaves), level) = (profile.leaves(), proof.level as u32) else { return false };
    let (Some(rest), Some(padded)) = (leaves.checked_shr(level), proof.rounds.checked_next_power_of_two())
    else {
        return false;
    };
    let mut siblings = siblings.iter();
    let root = climb(proof.chunk, proof.row.wrapping_shr(level), rest, &mut siblings).and_then(|root| {
        let round = sha256_of(&[&[2], &proof.round.to_le_bytes(), &proof.before, &root]);
        climb(round, proof.round, padded, &mut siblings)
    });
    // A path that is longer than the tree is deep has left nothing to climb.
    let inside = rest > 0 && proof.row < leaves && proof.round < proof.rounds;
    inside && root == Some(proof.root) && siblings.next().is_none()
}

/// The byte as it should be.
#[inline(never)]
fn right(proof: &FraudProof, profile: &MeasureProfile, domain: &[u8; 8]) -> Result<u8> {
    let (instant, node) = (&proof.seed, &proof.node);
    let nonce = sha256_of(&[&tag(b"nonce"), domain, instant, node.as_ref(), &[proof.gpu], &proof.profile]);
    let row_seed = sha256_of(&[&tag(b"round"), &nonce, &proof.round.to_le_bytes(), &proof.before]);
    let column_seed = sha256_of(&[&tag(b"b"), domain, instant, &profile.order.to_le_bytes()]);
    let of_row = profile.row_leaves().or_overflow()?;
    let row = proof.row.checked_div(of_row).or_overflow()?;
    let group = proof
        .row
        .checked_rem(of_row)
        .and_then(|leaf| leaf.checked_mul(MEASURE_LEAF_LEN as u32))
        .and_then(|first| first.checked_add(proof.column))
        .or_overflow()?;
    let column = group.checked_mul(profile.fold as u32).or_overflow()?;
    Ok(mix(profile.order, profile.fold, (&row_seed, row), (&column_seed, column)))
}

fn validate(accounts: &ProveWrongCell, siblings: &[[u8; 32]], period: u64) -> Result<(MeasureProfile, u8)> {
    let proof = &accounts.fraud_proof;
    require_fresh(&accounts.market, &accounts.node, proof.period, period)?;
    let profile = accounts.gpu_model.profile_of(&proof.profile).ok_or(MarketError::UnknownProfile)?;
    require!(committed(proof, &profile, siblings), MarketError::InvalidProof);
    let right = right(proof, &profile, &accounts.market.domain)?;
    require!(right as i32 != proof.claimed, MarketError::WorkIsRight);
    Ok((profile, right))
}

pub(crate) fn handler(ctx: &mut Context<ProveWrongCell>, siblings: Vec<[u8; 32]>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let period = period_of(now, ctx.accounts.market.params.period_secs)?;
    let (profile, right) = validate(&ctx.accounts, &siblings, period)?;
    let bump = ctx.bumps.fault;
    let accounts = &mut ctx.accounts;
    let proof = &accounts.fraud_proof;
    emit!(WrongCellProven {
        node: proof.node,
        provider: *accounts.provider.address(),
        finder: proof.finder,
        fault: *accounts.fault.address(),
        period: proof.period,
        round: proof.round,
        leaf: proof.row,
        gpu: proof.gpu,
        group: proof.column as u8,
        claimed: proof.claimed as u8,
        right,
        profile,
    });
    let subject: (&mut Node, &mut Provider) = (&mut accounts.node, &mut accounts.provider);
    convict(&accounts.market, &accounts.fraud_proof, subject, &mut accounts.fault, (bump, now))
}
