//! A keeper moves the remaining time of a failed lease to another node, which continues from the last checkpoint.
//!
//! The failed lease ends as it would without the move: its claims, its fault and the customer's compensation stay as
//! they are. The credits that it releases fund the new lease, at a price that is not higher. The keeper answers for its
//! choice as for an award: see prove_better_ask. A lease can move once; the new lease may fail and move in turn. Its address is made of the failed one's, so that a lease that comes back to a node
//! where it was before has an address of its own.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseMigrated;
use crate::instructions::lease::lease_end::{finish, Ending};
use crate::instructions::order::award::{ask_within, require_suitable, write_lease, Offer, Parties, Terms};
use crate::math::pricing::cost;
use crate::seeds;
use crate::state::{
    Credits, GpuModel, Keeper, Lease, Market, Node, Order, Provider, ENDED_FAILED, LEASE_FAILED,
};

#[derive(Accounts)]
pub struct LeaseMigrate {
    /// Pays the new lease's rent and gets it back at its close.
    #[account(mut)]
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(mut, address = failed.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut, constraint = credits.customer == failed.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub failed: Account<Lease>,
    #[account(mut, address = failed.node @ MarketError::WrongAccount)]
    pub failed_node: Account<Node>,
    /// Absent when the new node is of the same provider.
    #[account(mut)]
    pub failed_provider: Option<Account<Provider>>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(
        init,
        payer = signer,
        seeds = [seeds::LEASE, failed.address().as_ref(), node.address().as_ref()],
        bump
    )]
    pub lease: Account<Lease>,
    pub system_program: Program<System>,
}

/// What the node offers for the new lease.
fn validate(accounts: &LeaseMigrate, now: i64) -> Result<Offer> {
    require!(accounts.failed.status == LEASE_FAILED, MarketError::WrongLeaseStatus);
    require!(accounts.failed.can_migrate()?, MarketError::MigrationNotAllowed);
    let left = accounts.failed.undelivered_secs()? as i64;
    let end = accounts.order.start_by(now)?.checked_add(left).or_overflow()?;
    let price = ask_within(&accounts.node, &accounts.order, accounts.failed.price)?;
    let reputation_bps = require_suitable(
        &accounts.market,
        &accounts.keeper,
        &accounts.order,
        &accounts.node,
        &accounts.gpu_model,
        now,
        end,
    )?;
    Ok(Offer { price, end, reputation_bps })
}

/// `max_score` is what the keeper found, as in `order_award`.
pub(crate) fn handler(ctx: &mut Context<LeaseMigrate>, max_score: u64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let offer = validate(&ctx.accounts, now)?;
    let bump = ctx.bumps.lease;
    let accounts = &mut ctx.accounts;
    let duration_secs = accounts.failed.undelivered_secs()?;
    let old_provider = match accounts.failed_provider.as_mut() {
        Some(other) => other,
        None => &mut accounts.provider,
    };
    require!(*old_provider.address() == accounts.failed.provider, MarketError::WrongAccount);
    let ending = Ending { reason: ENDED_FAILED, at: accounts.failed.ended_at, kept_word: false };
    finish(
        &mut accounts.failed,
        &mut accounts.failed_node,
        old_provider,
        &mut accounts.credits,
        ending,
        now,
    )?;

    // What the failed lease gave back is at least this: parts rounded down are not more than the whole.
    let reserved = cost(offer.price, accounts.failed.gpus, duration_secs)?;
    let credits = &mut accounts.credits;
    credits.reserve(reserved)?;
    credits.live_leases = credits.live_leases.checked_add(1).or_overflow()?;
    let order = &mut accounts.order;
    order.migrations = order.migrations.checked_add(1).or_overflow()?;
    let (checkpoint_hash, failed_at) = (accounts.failed.checkpoint_hash, accounts.failed.ended_at);
    write_lease(
        &mut accounts.lease,
        Parties {
            market: &accounts.market,
            keeper: &accounts.keeper.wallet,
            payer: accounts.signer.address(),
            order: &mut accounts.order,
            node: &mut accounts.node,
            provider: &mut accounts.provider,
        },
        &Terms { offer: &offer, reserved, duration_secs, continues: 1, failed_at, checkpoint_hash },
        now,
        bump,
    )?;
    require!(accounts.lease.score <= max_score, MarketError::ScoreTooHigh);
    emit!(LeaseMigrated {
        from: *accounts.failed.address(),
        to: *accounts.lease.address(),
        order: accounts.lease.order,
        node: accounts.lease.node,
        keeper: accounts.lease.keeper,
        price: offer.price,
        gpu_mask: accounts.lease.gpu_mask,
        duration_secs,
        reserved,
        score: accounts.lease.score,
        checkpoint: checkpoint_hash,
    });
    Ok(())
}
