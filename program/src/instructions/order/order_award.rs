//! A keeper awards an instant order, or one node's part of it, to a node. The program checks everything itself.

use anchor_lang::prelude::*;

use crate::constants::MODE_INSTANT;
use crate::errors::{MarketError, OrOverflow};
use crate::events::LeaseAwarded;
use crate::instructions::order::award::{ask_within, require_suitable, write_lease, Offer, Parties, Terms};
use crate::seeds;
use crate::state::{Credits, GpuModel, Keeper, Lease, Market, Node, Order, Provider, ORDER_OPEN};

#[derive(Accounts)]
pub struct OrderAward {
    /// Pays the lease's rent and gets it back at its close.
    #[account(mut)]
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
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
        payer = signer,
        seeds = [seeds::LEASE, order.address().as_ref(), node.address().as_ref()],
        bump
    )]
    pub lease: Account<Lease>,
    pub system_program: Program<System>,
}

/// The order waits for a node. In an instant order the standing ask is the bid.
fn validate(accounts: &OrderAward, now: i64) -> Result<Offer> {
    let (order, node) = (&accounts.order, &accounts.node);
    require!(order.status == ORDER_OPEN, MarketError::WrongOrderStatus);
    require!(order.mode == MODE_INSTANT, MarketError::WrongOrderMode);
    require!(now <= order.award_deadline, MarketError::TooLate);
    let price = ask_within(node, order, order.max_price)?;
    let end = order.latest_end()?;
    let reputation_bps =
        require_suitable(&accounts.market, &accounts.keeper, order, node, &accounts.gpu_model, now, end)?;
    Ok(Offer { price, end, reputation_bps })
}

/// `max_score` is what the keeper found: should the node have got worse since, the award is refused instead of unjust.
pub(crate) fn handler(ctx: &mut Context<OrderAward>, max_score: u64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let offer = validate(&ctx.accounts, now)?;
    let bump = ctx.bumps.lease;
    let accounts = &mut ctx.accounts;
    let parties = Parties {
        market: &accounts.market,
        keeper: &accounts.keeper.wallet,
        payer: accounts.signer.address(),
        order: &mut accounts.order,
        node: &mut accounts.node,
        provider: &mut accounts.provider,
    };
    award(&mut accounts.lease, parties, &mut accounts.credits, &offer, now, bump)?;
    require!(accounts.lease.score <= max_score, MarketError::ScoreTooHigh);
    Ok(())
}

/// Gives one node's part of an open order to a node.
#[inline(never)]
pub fn award(
    lease: &mut Account<Lease>,
    parties: Parties,
    credits: &mut Account<Credits>,
    offer: &Offer,
    now: i64,
    bump: u8,
) -> Result<()> {
    let Parties { market, keeper, payer, order, node, provider } = parties;
    let (held, reserved) = (order.held_for(order.max_price)?, order.held_for(offer.price)?);
    let released = held.checked_sub(reserved).or_overflow()?;
    order.reserved = order.reserved.checked_sub(held).or_overflow()?;
    credits.release_of(order.session_slot, order.created_at, released)?;
    credits.live_leases = credits.live_leases.checked_add(1).or_overflow()?;
    if order.nodes_awarded == 0 {
        order.site = node.spec.site;
    }
    order.note_part(now)?;
    if order.nodes_awarded == order.nodes_wanted {
        order.complete(now)?;
    }
    let duration_secs = order.duration_secs;
    let terms =
        Terms { offer, reserved, duration_secs, continues: 0, failed_at: 0, checkpoint_hash: [0; 32] };
    write_lease(lease, Parties { market, keeper, payer, order, node, provider }, &terms, now, bump)?;
    emit!(LeaseAwarded {
        lease: *lease.address(),
        order: lease.order,
        node: lease.node,
        keeper: lease.keeper,
        price: offer.price,
        gpu_mask: lease.gpu_mask,
        reserved,
        released,
        score: lease.score,
    });
    Ok(())
}
