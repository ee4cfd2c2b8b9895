//! Slashes the keeper that awarded an instant order, or moved a failed lease, to a node although a strictly better one was
//! there, without a vote.
//!
//! Only facts that did not change count. The lease keeps the score of its award, which the keeper itself bounded. The
//! better node must provably have been the same from before the order was created, or the lease failed, until then: its ask, its status,
//! its free GPUs, its stake, its score record and its model's terms. So a keeper that takes the best node that it sees
//! cannot be slashed. What cannot be proven is in docs/protocol/README.md.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::{AWARD_VIEW_SECS, MODE_INSTANT};
use crate::errors::{MarketError, OrOverflow};
use crate::instructions::slashing::unjust::{score_throughout, Asked, Unjust};
use crate::seeds;
use crate::slashing::*;
use crate::state::{GpuModel, Keeper, Lease, Market, Node, Order, Provider};

#[derive(Accounts)]
pub struct ProveBetterAsk {
    #[account(mut)]
    pub finder: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    #[account(address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut)]
    pub lease: Account<Lease>,
    /// The node that should have been awarded.
    pub better: Account<Node>,
    #[account(address = better.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == better.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(mut, constraint = keeper.wallet == lease.keeper @ MarketError::WrongAccount)]
    pub keeper: Account<Keeper>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()],
        bump = keeper.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    pub payouts: Nested<Payouts>,
}

/// Whether the award can be contested at all. The nodes of a redundant order are drawn, not chosen. Of an order over
/// several nodes, one that had a part of it was not passed over; nor was one to which the lease cannot move back, nor, of any
/// order, one that did not serve it.
fn contestable(accounts: &ProveBetterAsk, now: i64) -> Result<()> {
    let (lease, order) = (&accounts.lease, &accounts.order);
    let by_asks = order.mode == MODE_INSTANT || lease.continues == 1;
    let open = lease.contestable(now) && by_asks && order.redundant == 0;
    require!(open, MarketError::NotContestable);
    let better = accounts.better.address();
    let alone = order.nodes_wanted == 1 && lease.continues == 0;
    let passed_over = alone || !order.may_have(order.address(), better);
    require!(passed_over && !order.was_unserved_by(better), MarketError::NotBetter);
    Ok(())
}

/// The ask of the better node, and its score at its worst during the auction.
fn validate(accounts: &ProveBetterAsk, now: i64) -> Result<(u64, u64)> {
    contestable(accounts, now)?;
    let (lease, order, better) = (&accounts.lease, &accounts.order, &accounts.better);
    let (asked, site) = if lease.continues == 1 {
        (Asked::by_failure(order, lease)?, &order.site)
    } else {
        let since = order.created_at.checked_sub(AWARD_VIEW_SECS).or_overflow()?;
        (Asked::by(order, since, lease.awarded_at)?, order.site_wanted(&better.spec.site))
    };
    require!(better.ask_since < asked.since && *better.address() != lease.node, MarketError::NotBetter);
    let model = &accounts.gpu_model;
    let ask = better.ask(order)?;
    let score = score_throughout(better, ask, model, site, &asked)?;
    require!(score < lease.score, MarketError::NotBetter);
    Ok((ask, score))
}

pub(crate) fn handler(ctx: &mut Context<ProveBetterAsk>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let (better_price, score) = validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    Unjust {
        market: &mut accounts.market,
        lease: &mut accounts.lease,
        keeper: &mut accounts.keeper,
        stake_vault: &mut accounts.stake_vault,
        payouts: &mut accounts.payouts,
        finder: accounts.finder.account(),
        better: *accounts.better.address(),
        better_price,
    }
    .punish(score, now)
}
