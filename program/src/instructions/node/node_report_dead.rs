//! The machine's agent or the provider reports that a GPU has died. It costs a small part of the stake, twice as much each
//! time within a year, and the node takes no work for 30 days: so a report is worth it for a GPU that is dead, and not for
//! one that a check would show to be another. Keepers stop asking the machine with the report; what they asked before
//! counts as ever. Since nobody knows when the GPU died, seconds since the machine last passed checks that are not paid
//! never will be: its leases have failed there, and may move.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::constants::{DEAD_GPU_BPS, DEAD_GPU_SECS, RELAPSE_SECS};
use crate::errors::{MarketError, OrOverflow};
use crate::events::NodeDied;
use crate::math::fees::bps_of;
use crate::records;
use crate::seeds;
use crate::slashing::Slashed;
use crate::state::{doubled, DeviceClaim, Market, Node, Provider, NODE_RETIRED, NODE_SUSPENDED};

/// The remaining accounts are all device claims that the node holds, writable.
#[derive(Accounts)]
pub struct NodeReportDead {
    /// The provider's wallet or the node's key.
    pub authority: Signer,
    pub market: Account<Market>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    #[account(mut)]
    pub node: Account<Node>,
    pub token_program: Program<Token>,
}

/// A node about which a fault is open or was applied has its cause already.
fn validate(accounts: &NodeReportDead) -> Result<()> {
    let signer = *accounts.authority.address();
    let known = signer == accounts.provider.wallet || signer == accounts.node.node_key;
    require!(known, MarketError::Unauthorised);
    let works = !matches!(accounts.node.status, NODE_RETIRED | NODE_SUSPENDED);
    require!(works, MarketError::WrongNodeStatus);
    Ok(())
}

/// What it costs this time, and counts it.
fn cost(node: &mut Node, now: i64) -> Result<u64> {
    let recent = node.died_at != 0 && now < node.died_at.saturating_add(RELAPSE_SECS);
    node.deaths = if recent { node.deaths.saturating_add(1) } else { 1 };
    node.died_at = now;
    bps_of(node.required_stake, doubled(DEAD_GPU_BPS, node.deaths.saturating_sub(1))?)
}

/// No other node takes a device that more than this one vouched for, as long as this one may not use it.
fn lock(view: &AccountView, node: &Address, now: i64, until: i64) -> Result<()> {
    let mut claim: DeviceClaim = records::read(view)?;
    require!(claim.node == *node && claim.key == 0, MarketError::WrongAccount);
    let tier = claim.tier_at(now);
    if tier >= 2 {
        claim.set(tier, claim.expires().max(until))?;
        records::write(view, &claim)?;
    }
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<NodeReportDead>) -> Result<()> {
    validate(&ctx.accounts)?;
    let now = Clock::get()?.unix_timestamp;
    let until = now.checked_add(DEAD_GPU_SECS).or_overflow()?;
    let address = *ctx.accounts.node.address();
    let claims = ctx.remaining_accounts()?;
    let held = ctx.accounts.node.spec.gpus.checked_sub(ctx.accounts.node.claims_missing).or_overflow()?;
    require!(claims.len() == held as usize, MarketError::DeviceCountMismatch);
    for (at, view) in claims.iter().enumerate() {
        let before = claims.get(..at).unwrap_or_default();
        let other = before.iter().all(|earlier| earlier.address() != view.address());
        require!(other && view.is_writable(), MarketError::WrongAccount);
        lock(view, &address, now, until)?;
    }
    let accounts = &mut ctx.accounts;
    let node = &mut accounts.node;
    node.die(now);
    node.dead_until = until;
    let due = cost(node, now)?;
    let amount = node.take_stake(&mut accounts.provider, due, now, accounts.market.params.period_secs)?;
    Slashed::stake_of(&mut accounts.provider, &mut accounts.stake_vault).burn(
        &accounts.token_program,
        &mut accounts.stake_mint,
        amount,
    )?;
    let node = &accounts.node;
    emit!(NodeDied { node: address, provider: node.provider, amount, until });
    node.invariant()?;
    accounts.provider.invariant(accounts.stake_vault.amount())
}
