//! A keeper gives an order, or one node's part of it, to a node. Everything is checked again here.

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::LeaseAwarded;
use crate::math::pricing::cost;
use crate::math::reputation::reputation_bps;
use crate::math::score::score;
use crate::seeds;
use crate::state::{
    Credits, GpuModel, Keeper, Lease, Market, Node, Order, Provider, KEEPER_ACTIVE, LEASE_AWARDED,
    NODE_ACTIVE, ORDER_AWARDED, ORDER_OPEN,
};

#[derive(Accounts)]
pub struct OrderAward {
    /// Pays the lease's rent and gets it back at its close.
    #[account(mut)]
    pub wallet: Signer,
    #[account(constraint = keeper.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(mut)]
    pub order: Account<Order>,
    #[account(mut, constraint = credits.customer == order.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    #[account(
        init,
        payer = wallet,
        seeds = [seeds::LEASE, order.address().as_ref(), node.address().as_ref()],
        bump
    )]
    pub lease: Account<Lease>,
    pub system_program: Program<System>,
}

fn validate(accounts: &OrderAward, now: i64) -> Result<()> {
    let (order, node) = (&accounts.order, &accounts.node);
    accounts.market.awards_open()?;
    if accounts.keeper.status != KEEPER_ACTIVE {
        return fail(MarketError::KeeperNotActive);
    }
    if order.status != ORDER_OPEN {
        return fail(MarketError::WrongOrderStatus);
    }
    if now > order.award_deadline {
        return fail(MarketError::TooLate);
    }
    if node.status != NODE_ACTIVE {
        return fail(MarketError::WrongNodeStatus);
    }
    if node.price > order.max_price {
        return fail(MarketError::PriceTooHigh);
    }
    if accounts.provider.stake < accounts.provider.committed {
        return fail(MarketError::InsufficientStake);
    }
    let site = if order.nodes_awarded == 0 { &node.spec.site } else { &order.site };
    order.requirement.satisfied_by(node, &accounts.gpu_model, order.gpus_per_node, site, now)
}

pub fn handler(ctx: &mut Context<OrderAward>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let bump = ctx.bumps.lease;
    let accounts = &mut ctx.accounts;
    let (order, node, credits) = (&mut accounts.order, &mut accounts.node, &mut accounts.credits);
    let gpus = order.gpus_per_node;
    let gpu_mask = node.take_gpus(gpus)?;
    // In an instant order the standing ask is the bid.
    let price = node.price;
    let held = cost(order.max_price, gpus, order.duration_secs)?;
    let reserved = cost(price, gpus, order.duration_secs)?;
    let released = held.checked_sub(reserved).or_overflow()?;
    order.reserved = order.reserved.checked_sub(held).or_overflow()?;
    credits.release(released)?;
    credits.live_leases = credits.live_leases.checked_add(1).or_overflow()?;
    if order.nodes_awarded == 0 {
        order.site = node.spec.site;
    }
    order.nodes_awarded = order.nodes_awarded.checked_add(1).or_overflow()?;
    order.live_leases = order.live_leases.checked_add(1).or_overflow()?;
    if order.nodes_awarded == order.nodes_wanted {
        order.status = ORDER_AWARDED;
        order.awarded_at = now;
    }
    let provider = &mut accounts.provider;
    provider.live_leases = provider.live_leases.checked_add(1).or_overflow()?;

    let params = &accounts.market.params;
    let address = *accounts.lease.address();
    let lease = &mut accounts.lease;
    lease.order = *order.address();
    lease.node = *node.address();
    lease.provider = *provider.address();
    lease.customer = order.customer;
    lease.keeper = *accounts.wallet.address();
    lease.node_key = node.node_key;
    lease.domain = accounts.market.domain;
    lease.price = price;
    lease.reserved = reserved;
    lease.awarded_at = now;
    lease.notice_secs = params.notice_secs;
    lease.settle_secs = params.settle_deadline_secs()?;
    lease.rating_secs = params.rating_secs;
    lease.fee_bps = params.fee_bps;
    lease.slash_offline_bps = params.slash_offline_bps;
    lease.slash_bad_work_bps = params.slash_bad_work_bps;
    lease.gpu_mask = gpu_mask;
    lease.gpus = gpus;
    lease.status = LEASE_AWARDED;
    lease.run_to_completion = order.run_to_completion;
    lease.version = VERSION;
    lease.bump = bump;
    emit!(LeaseAwarded {
        lease: address,
        order: lease.order,
        node: lease.node,
        keeper: lease.keeper,
        price,
        gpu_mask,
        reserved,
        released,
        score: score(price, reputation_bps(node, now))?,
    });
    order.invariant()?;
    node.invariant()?;
    lease.invariant(now)
}
