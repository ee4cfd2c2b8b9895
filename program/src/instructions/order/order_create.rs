//! A customer, or one of its session keys, creates an order and reserves the credits for it.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::{
    MAX_DURATION_SECS, MAX_GPUS, MAX_ORDER_NODES, MAX_REDUNDANCY, MAX_SEALED_NODES, MIN_REDUNDANCY,
    MODE_INSTANT, MODE_SEALED, VERSION,
};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::OrderCreated;
use crate::seeds;
use crate::state::{Credits, Market, Order, Requirement, ORDER_OPEN};

#[derive(Clone, Copy, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct OrderArgs {
    /// Chosen by the customer, once: part of the order's address.
    pub nonce: u64,
    /// µUSDC per GPU-hour.
    pub max_price: u64,
    pub duration_secs: u32,
    pub nodes: u8,
    pub gpus_per_node: u8,
    pub mode: u8,
    pub run_to_completion: u8,
    /// 1 when a failed lease must not move to another node.
    pub no_migration: u8,
    /// 1 to have all nodes run the same job and pay those that the majority agrees with.
    pub redundant: u8,
    /// 1 to take nodes' spot prices: their providers may end the leases at a short notice.
    pub interruptible: u8,
    pub image_digest: [u8; 32],
    pub requirement: Requirement,
}

#[derive(Accounts)]
#[instruction(args: OrderArgs)]
pub struct OrderCreate {
    /// Pays the order's rent and gets it back.
    #[account(mut)]
    pub authority: Signer,
    pub market: Account<Market>,
    #[account(mut)]
    pub credits: Account<Credits>,
    #[account(
        init,
        payer = authority,
        seeds = [seeds::ORDER, credits.customer.as_ref(), &args.nonce.to_le_bytes()],
        bump
    )]
    pub order: Account<Order>,
    pub system_program: Program<System>,
}

/// A job whose output is compared ends by itself, on enough nodes for a majority, and each node does all of its part:
/// the deadlines follow from the time that was ordered. Of an even number, half could keep the others from a majority.
fn redundancy_is_sound(args: &OrderArgs) -> bool {
    args.redundant == 1
        && args.run_to_completion == 1
        && args.no_migration == 1
        && (MIN_REDUNDANCY..=MAX_REDUNDANCY).contains(&args.nodes)
        && args.nodes % 2 == 1
}

/// What may be interrupted is neither guaranteed nor compared, and its price is a standing ask. A node that may end it with
/// its job could leave at any second.
fn interruption_is_sound(args: &OrderArgs) -> bool {
    args.interruptible == 1
        && args.mode == MODE_INSTANT
        && args.run_to_completion == 0
        && args.redundant == 0
        && args.requirement.guaranteed == 0
}

fn validate(accounts: &OrderCreate, args: &OrderArgs) -> Result<()> {
    accounts.market.orders_open()?;
    let most_nodes = match args.mode {
        MODE_INSTANT => MAX_ORDER_NODES,
        MODE_SEALED => MAX_SEALED_NODES,
        _ => return fail(MarketError::UnknownMode),
    };
    require!(args.max_price > 0, MarketError::ZeroPrice);
    require!((1..=MAX_DURATION_SECS).contains(&args.duration_secs), MarketError::InvalidDuration);
    let sound = (1..=most_nodes).contains(&args.nodes)
        && (1..=MAX_GPUS).contains(&args.gpus_per_node)
        && args.run_to_completion <= 1
        && args.no_migration <= 1
        && (args.redundant == 0 || redundancy_is_sound(args))
        && (args.interruptible == 0 || interruption_is_sound(args));
    require!(sound, MarketError::InvalidRequirement);
    args.requirement.validate()
}

pub(crate) fn handler(ctx: &mut Context<OrderCreate>, args: OrderArgs) -> Result<()> {
    validate(&ctx.accounts, &args)?;
    let now = Clock::get()?.unix_timestamp;
    let bump = ctx.bumps.order;
    let accounts = &mut ctx.accounts;
    let authority = *accounts.authority.address();
    let slot = accounts.credits.actor(&authority, now)?;
    accounts.credits.live_orders = accounts.credits.live_orders.checked_add(1).or_overflow()?;

    let customer = accounts.credits.customer;
    let params = &accounts.market.params;
    let deadline = params.award_deadline_secs as i64;
    let address = *accounts.order.address();
    let order = &mut accounts.order;
    order.customer = customer;
    order.rent_payer = authority;
    order.image_digest = args.image_digest;
    order.nonce = args.nonce;
    order.max_price = args.max_price;
    order.created_at = now;
    order.award_deadline = now.checked_add(deadline).or_overflow()?;
    order.requirement = args.requirement;
    order.duration_secs = args.duration_secs;
    order.start_secs = params.start_deadline_secs;
    order.settle_secs = params.settle_deadline_secs()?;
    order.nodes_wanted = args.nodes;
    order.gpus_per_node = args.gpus_per_node;
    order.mode = args.mode;
    order.run_to_completion = args.run_to_completion;
    order.no_migration = args.no_migration;
    order.session_slot = slot;
    order.redundant = args.redundant;
    order.interruptible = args.interruptible;
    order.status = ORDER_OPEN;
    order.version = VERSION;
    order.bump = bump;
    let reserved = order.held_for_missing()?;
    order.reserved = reserved;
    accounts.credits.reserve_for(slot, reserved)?;
    emit!(OrderCreated {
        order: address,
        customer,
        reserved,
        max_price: args.max_price,
        nodes: args.nodes,
        gpus: args.gpus_per_node,
        duration_secs: args.duration_secs,
        held_secs: order.held_secs(),
    });
    order.invariant()
}
