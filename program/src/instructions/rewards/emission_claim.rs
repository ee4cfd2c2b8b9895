//! Anyone claims a provider's emission: the stake tokens that its customers' fees earned it while governance had switched
//! emission on. They come from a vault that somebody must have filled: the program mints nothing.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::Emitted;
use crate::seeds;
use crate::state::{Market, Provider, Rewards};
use crate::token::transfer;

#[derive(Accounts)]
pub struct EmissionClaim {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = rewards.emission_vault @ MarketError::WrongAccount)]
    pub emission_vault: Account<TokenAccount>,
    #[account(mut)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

/// What the day's cap or the vault cuts off stays in the provider's account.
pub(crate) fn handler(ctx: &mut Context<EmissionClaim>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let (rewards, provider) = (&mut accounts.rewards, &mut accounts.provider);
    let payable = provider.emission.min(accounts.emission_vault.amount());
    let amount = rewards.emit_within(payable, accounts.market.params.emission_cap, now)?;
    require!(amount > 0, MarketError::NothingOwed);
    provider.emission = provider.emission.checked_sub(amount).or_overflow()?;
    provider.stake = provider.stake.checked_add(amount).or_overflow()?;
    let bump = [accounts.market.bump];
    let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
    transfer(
        &accounts.token_program,
        accounts.emission_vault.cpi_handle_mut().into(),
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.market.cpi_handle(),
        amount,
        &[&signer],
    );
    emit!(Emitted { provider: *accounts.provider.address(), amount, left: accounts.provider.emission });
    accounts.provider.invariant(accounts.stake_vault.amount())
}
