//! Slashes a node for a wrong work claim, without a vote: the program follows the entry to the claimed root and
//! computes the right value itself.
//!
//! One proof covers all work claims up to the period of the proof, and all until the wallet says that the node is mended:
//! a machine that computes wrongly is slashed once, not once for every keeper that asked it, nor once a period.

use alloc::vec::Vec;

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::WORK_CHUNK;
use crate::errors::{MarketError, OrOverflow};
use crate::events::BadWorkProven;
use crate::math::merkle::climb;
use crate::math::periods::{period_end, period_of};
use crate::math::slashing::split;
use crate::math::work::cell;
use crate::seeds;
use crate::slashing::*;
use crate::state::{FraudProof, Market, Node, Provider, NODE_RETIRED};

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
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    pub payouts: Nested<Payouts>,
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
    let (fraud_proof, node) = (&accounts.fraud_proof, &accounts.node);
    // What a machine committed to before it was mended has the cause that was proven. What its key signs after the node
    // has left says nothing about the machine.
    let period_secs = accounts.market.params.period_secs;
    let mended = period_of(node.mended_at, period_secs)?;
    require!(fraud_proof.period > node.bad_work_period.max(mended), MarketError::AlreadyProven);
    let left = node.status == NODE_RETIRED && fraud_proof.period > period_of(node.retired_at, period_secs)?;
    require!(!left, MarketError::WrongNodeStatus);
    // A claim of a future period would count again after its proof.
    require!(fraud_proof.period <= period, MarketError::TooEarly);
    require!(claimed(fraud_proof, siblings), MarketError::InvalidProof);
    let right = cell(&fraud_proof.seed, fraud_proof.order, fraud_proof.row, fraud_proof.column);
    require!(right != fraud_proof.claimed, MarketError::WorkIsRight);
    Ok(right)
}

pub(crate) fn handler(ctx: &mut Context<ProveBadWork>, siblings: Vec<[u8; 32]>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let period = period_of(now, ctx.accounts.market.params.period_secs)?;
    let right = validate(&ctx.accounts, &siblings, period)?;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    let finder = *accounts.finder.address();
    let node = &mut accounts.node;
    let due = node.cause_left(params.slash_bad_work_bps, now)?;
    // One cause is slashed once: until the wallet says that the node is mended, no more than the difference is due. So
    // somebody with the node's key cannot have it slashed again and again.
    require!(due > 0, MarketError::AlreadyProven);
    node.charge_cause(due)?;
    node.bad_work_period = period;
    let end = period_end(accounts.fraud_proof.period, params.period_secs)?;
    let start = end.checked_sub(params.period_secs as i64).or_overflow()?;
    let from = node.suspect_since(start, end);
    node.convict(from, now);
    node.faulted_at = now;
    let amount = node.take_stake(&mut accounts.provider, due, now, params.period_secs)?;
    // The harmed are not known here: what would be theirs is burned.
    let shares = split(amount, params.finder_bps)?.claimed(0)?;
    let payable_at = now.checked_add(params.unstake_cooldown_secs as i64).or_overflow()?;
    accounts.payouts.divide(
        Slashed {
            vault: &mut accounts.stake_vault,
            seed: Slashed::PROVIDER,
            wallet: accounts.provider.wallet,
            bump: accounts.provider.bump,
            authority: accounts.provider.cpi_handle(),
        },
        &shares,
    )?;
    let credit = Credit { beneficiary: finder, source: *node.address(), amount: shares.finder, payable_at };
    accounts.payouts.credit(accounts.finder.account(), &credit)?;
    let fraud_proof = &accounts.fraud_proof;
    emit!(BadWorkProven {
        node: fraud_proof.node,
        provider: *accounts.provider.address(),
        finder,
        period: fraud_proof.period,
        row: fraud_proof.row,
        column: fraud_proof.column,
        claimed: fraud_proof.claimed,
        right,
        amount,
        finder_share: shares.finder,
        burned: shares.burned,
    });
    accounts.node.invariant()?;
    accounts.provider.invariant(accounts.stake_vault.amount())
}
