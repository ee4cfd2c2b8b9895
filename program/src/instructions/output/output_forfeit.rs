//! Anyone has a node pay for the output that it committed to and did not reveal: twice what its lease was worth, of the
//! node's own stake, whether or not others revealed theirs.
//!
//! All of it is burned. What others get of a slash is what an owner of several wallets would get back of its own.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::OutputForfeited;
use crate::seeds;
use crate::slashing::Slashed;
use crate::state::{Lease, Market, Node, Provider, OUTPUT_REJECTED, OUTPUT_WITHHELD};

#[derive(Accounts)]
pub struct OutputForfeit {
    pub market: Account<Market>,
    #[account(mut)]
    pub lease: Account<Lease>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    pub token_program: Program<Token>,
}

pub(crate) fn handler(ctx: &mut Context<OutputForfeit>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let lease = &mut accounts.lease;
    require!(lease.output == OUTPUT_WITHHELD, MarketError::WrongOutputState);
    lease.output = OUTPUT_REJECTED;
    let period_secs = accounts.market.params.period_secs;
    let amount = accounts.node.take_stake(&mut accounts.provider, lease.forfeit, now, period_secs)?;
    Slashed::stake_of(&mut accounts.provider, &mut accounts.stake_vault).burn(
        &accounts.token_program,
        &mut accounts.stake_mint,
        amount,
    )?;
    emit!(OutputForfeited { lease: *lease.address(), node: lease.node, provider: lease.provider, amount });
    lease.invariant(now)?;
    accounts.node.invariant()?;
    accounts.provider.invariant(accounts.stake_vault.amount())
}
