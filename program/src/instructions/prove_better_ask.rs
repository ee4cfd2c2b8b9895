//! Slashes the keeper that gave an instant order to a node although a strictly better one was there, with nobody's vote.
//!
//! What is compared must not have moved: the lease keeps the score that it was awarded by, which the keeper itself bounded
//! in its award, and of the better node only that counts which provably held from before the order was created until the
//! award: its ask, that it was active, had the GPUs free and the stake behind it, its score record, and its model's
//! terms. A keeper that takes the best of what it sees cannot be slashed; what cannot be proven is in docs/protocol.md.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::constants::{AWARD_VIEW_SECS, MODE_INSTANT};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::UnjustAwardProven;
use crate::math::fees::fee;
use crate::math::pricing::cost;
use crate::math::reputation::reputation_of;
use crate::math::score::score;
use crate::math::slashing::{harm_in_stake, split};
use crate::planted::planted;
use crate::seeds;
use crate::slashing::{lighten, Slashed};
use crate::state::{GpuModel, Keeper, Lease, Market, NodeAccount, Order, Provider, NODE_ACTIVE};

#[derive(Accounts)]
pub struct ProveBetterAsk {
    pub finder: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    #[account(address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut)]
    pub lease: Account<Lease>,
    /// The node that should have been awarded.
    pub better: NodeAccount,
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
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    /// A stake-token account of the customer, if it paid more than the better node asked.
    #[account(mut)]
    pub customer_tokens: Option<Account<TokenAccount>>,
    /// A stake-token account of the finder.
    #[account(mut)]
    pub finder_tokens: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

/// Whether the award can be contested at all. Of an order over several nodes, several keepers may have awarded parts,
/// each right by what it knew, so only orders for one node are.
fn contestable(accounts: &ProveBetterAsk, now: i64) -> Result<()> {
    let (lease, order) = (&accounts.lease, &accounts.order);
    let window = accounts.market.params.challenge_secs as i64;
    let open = lease.score != 0
        && order.mode == MODE_INSTANT
        && order.nodes_wanted == 1
        && now <= lease.awarded_at.checked_add(window).or_overflow()?;
    if open {
        Ok(())
    } else {
        fail(MarketError::NotContestable)
    }
}

/// The score of the better node, at its worst during the auction: reputation only grows with age.
fn validate(accounts: &ProveBetterAsk, now: i64) -> Result<u64> {
    contestable(accounts, now)?;
    let (lease, order, better) = (&accounts.lease, &accounts.order, &accounts.better);
    let since = order.created_at.checked_sub(AWARD_VIEW_SECS).or_overflow()?;
    // GPUs that are free now and of which none was freed since were free all the time; the same goes for the stake.
    let held = better.status == NODE_ACTIVE
        && better.available_since < since
        && better.ask_since < since
        && better.gpus_freed_at < since
        && accounts.provider.covered()
        && accounts.provider.covered_since < since
        && accounts.gpu_model.since < since
        && better.price <= order.max_price
        && *better.address() != lease.node;
    let record = match better.record_throughout(since, lease.awarded_at) {
        Some(record) if held => record,
        _ => return fail(MarketError::NotBetter),
    };
    order.requirement.satisfied_by(
        better,
        &accounts.gpu_model,
        order.gpus_per_node,
        &better.spec.site,
        &record,
        since,
        order.latest_end(&accounts.market.params)?,
    )?;
    let reputation = reputation_of(&record.score, better.registered_at, since);
    // A commitment must not have ended before the award.
    let score = score(better.price, reputation, record.promise.bps_at(lease.awarded_at))?;
    if score < planted!(43, lease.score.saturating_add(1), lease.score) {
        Ok(score)
    } else {
        fail(MarketError::NotBetter)
    }
}

pub fn handler(ctx: &mut Context<ProveBetterAsk>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let better_score = validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let finder = *accounts.finder.address();
    let params = accounts.market.params;
    let lease = &mut accounts.lease;
    let awarded_score = lease.score;
    // Once only.
    lease.score = 0;
    let seconds = accounts.order.duration_secs;
    let paid = cost(lease.price, lease.gpus, seconds)?;
    let asked = cost(accounts.better.price, lease.gpus, seconds)?;
    let harm = harm_in_stake(paid.saturating_sub(asked), params.stake_price)?;

    let keeper = &mut accounts.keeper;
    let share = fee(keeper.bond, params.slash_unjust_award_bps)?;
    let amount = keeper.slash(share)?;
    lighten(&mut accounts.market, keeper, now)?;
    let shares = split(amount, harm, params.finder_bps)?;
    Slashed {
        token_program: &accounts.token_program,
        vault: &mut accounts.stake_vault,
        mint: &mut accounts.stake_mint,
        seed: Slashed::KEEPER,
        wallet: keeper.wallet,
        bump: keeper.bump,
        authority: accounts.keeper.cpi_handle(),
        customer_tokens: accounts.customer_tokens.as_mut(),
        customer: accounts.lease.customer,
        finder_tokens: &mut accounts.finder_tokens,
        finder,
    }
    .distribute(&shares)?;
    emit!(UnjustAwardProven {
        lease: *accounts.lease.address(),
        keeper: *accounts.keeper.address(),
        finder,
        better: *accounts.better.address(),
        awarded_score,
        better_score,
        amount,
        customer: shares.customer,
        finder_share: shares.finder,
        burned: shares.burned,
    });
    accounts.keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
