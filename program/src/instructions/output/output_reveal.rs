//! A node shows the output that it committed to, once every other node has committed or can no longer do so.

use anchor_lang::prelude::*;

use crate::constants::OUTPUT_TAG;
use crate::errors::MarketError;
use crate::events::OutputRevealed;
use crate::math::hash::sha256_of;
use crate::state::{Lease, Order, OUTPUT_COMMITTED, OUTPUT_REVEALED};

#[derive(Accounts)]
pub struct OutputReveal {
    #[account(address = lease.node_key @ MarketError::Unauthorised)]
    pub node_key: Signer,
    #[account(address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

fn validate(accounts: &OutputReveal, output: &[u8; 32], salt: &[u8; 32], now: i64) -> Result<()> {
    let (lease, order) = (&accounts.lease, &accounts.order);
    require!(lease.output == OUTPUT_COMMITTED, MarketError::WrongOutputState);
    require!(order.outputs_are_committed(now), MarketError::TooEarly);
    require!(now <= order.reveal_by, MarketError::TooLate);
    let parts: [&[u8]; 5] = [&OUTPUT_TAG, &lease.domain, lease.address().as_ref(), output, salt];
    require!(sha256_of(&parts) == lease.output_hash, MarketError::WrongReveal);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<OutputReveal>, output: [u8; 32], salt: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, &output, &salt, now)?;
    let lease = &mut ctx.accounts.lease;
    lease.output = OUTPUT_REVEALED;
    lease.output_hash = output;
    emit!(OutputRevealed { lease: *lease.address(), output });
    lease.invariant(now)
}
