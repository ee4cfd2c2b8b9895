//! The node declines a lease before its start, and says why: its job cannot run there, say. Nobody is to blame, its GPUs
//! are free at once, and the order goes to another node.
//!
//! The customer pays for the seconds that its order kept the machine, and nobody receives that: it waits for a buy-back.
//! So holding the machines of others costs what they could have earned meanwhile, and declining earns nothing.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::LeaseDeclined;
use crate::instructions::lease::unstarted::{close_if_done, Unstarted};
use crate::math::pricing::cost;
use crate::seeds;
use crate::state::{
    Credits, Lease, Market, Node, Order, Provider, Rewards, DECLINED_APART, DECLINED_JOB, DECLINED_PRICE,
    LEASE_AWARDED, ORDER_AWARDED, ORDER_LAPSED,
};
use crate::token::transfer;

#[derive(Accounts)]
pub struct LeaseDecline {
    #[account(address = lease.node_key @ MarketError::Unauthorised)]
    pub node_key: Signer,
    pub market: Account<Market>,
    #[account(mut, address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    // May be the same wallet as another account here: only its lamports change, so that does no harm.
    #[account(mut, unsafe(dup), address = order.rent_payer @ MarketError::WrongAccount)]
    pub order_rent_payer: UncheckedAccount,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(
        mut,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump
    )]
    pub credits_vault: Account<TokenAccount>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, close = rent_payer)]
    pub lease: Account<Lease>,
    #[account(mut, unsafe(dup), address = lease.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    pub token_program: Program<Token>,
}

/// As long as it could start. The job's digest keeps what was signed about one lease from a later one at its address.
fn validate(accounts: &LeaseDecline, reason: u8, job: &[u8; 32], now: i64) -> Result<()> {
    let (lease, order) = (&accounts.lease, &accounts.order);
    require!(lease.status == LEASE_AWARDED, MarketError::WrongLeaseStatus);
    let continues = lease.continues == 1;
    require!(
        continues || matches!(order.status, ORDER_AWARDED | ORDER_LAPSED),
        MarketError::WrongOrderStatus
    );
    let since = if continues { lease.awarded_at } else { order.awarded_at };
    require!(now <= order.start_by(since)?, MarketError::TooLate);
    let known = (DECLINED_JOB..=DECLINED_APART).contains(&reason);
    require!(
        known && (reason == DECLINED_PRICE) == (lease.repriced == 1) && *job == order.image_digest,
        MarketError::InvalidDecline
    );
    Ok(())
}

/// What the customer pays for the seconds that its order kept the machine: nothing where its vault or the market's cannot
/// move tokens.
fn charge(accounts: &LeaseDecline, held_secs: u32) -> Result<u64> {
    let lease = &accounts.lease;
    let moves = !accounts.credits_vault.is_frozen() && !accounts.fee_vault.is_frozen();
    let worth = cost(lease.price, lease.gpus, held_secs)?;
    Ok(if moves { worth.min(lease.reserved) } else { 0 })
}

#[inline(never)]
fn book(accounts: &mut LeaseDecline, charged: u64, now: i64) -> Result<()> {
    if charged == 0 {
        return Ok(());
    }
    accounts.rewards.add_to_buy_back(charged, now)?;
    let customer = accounts.credits.customer;
    let bump = [accounts.credits.bump];
    let signer: [&[u8]; 3] = [seeds::CREDITS, customer.as_ref(), &bump];
    transfer(
        &accounts.token_program,
        accounts.credits_vault.cpi_handle_mut().into(),
        accounts.fee_vault.cpi_handle_mut().into(),
        accounts.credits.cpi_handle(),
        charged,
        &[&signer],
    );
    accounts.rewards.invariant(accounts.fee_vault.amount())?;
    accounts.credits.invariant(accounts.credits_vault.amount())
}

pub(crate) fn handler(ctx: &mut Context<LeaseDecline>, reason: u8, job: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, reason, &job, now)?;
    let accounts = &mut ctx.accounts;
    let held_secs = accounts.lease.held_secs(accounts.order.start_secs, now);
    let charged = charge(accounts, held_secs)?;
    let mut unstarted = Unstarted {
        market: &accounts.market,
        order: &mut accounts.order,
        credits: &mut accounts.credits,
        node: &mut accounts.node,
        provider: &mut accounts.provider,
        lease: &accounts.lease,
    };
    let released = unstarted.undo(charged, now)?;
    unstarted.lapse(now)?;
    accounts.node.invariant()?;
    accounts.order.invariant()?;
    book(accounts, charged, now)?;
    emit!(LeaseDeclined {
        lease: *accounts.lease.address(),
        order: accounts.lease.order,
        node: accounts.lease.node,
        reason,
        job,
        held_secs,
        charged,
        released,
    });
    close_if_done(&mut accounts.order, accounts.order_rent_payer.account(), &mut accounts.credits)
}
