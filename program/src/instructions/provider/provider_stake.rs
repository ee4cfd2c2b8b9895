//! A provider adds stake.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::StakeAdded;
use crate::seeds;
use crate::state::{Market, Provider};
use crate::token;

#[derive(Accounts)]
pub struct ProviderStake {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    /// Stake tokens of the wallet.
    #[account(mut)]
    pub from: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &ProviderStake, amount: u64) -> Result<()> {
    require!(amount > 0, MarketError::ZeroAmount);
    token::require_token_account(&accounts.from, &accounts.market.stake_mint, accounts.wallet.address())?;
    require!(accounts.from.amount() >= amount, MarketError::InsufficientFunds);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<ProviderStake>, amount: u64) -> Result<()> {
    validate(&ctx.accounts, amount)?;
    let accounts = &mut ctx.accounts;
    token::transfer(
        &accounts.token_program,
        accounts.from.cpi_handle_mut().into(),
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.wallet.cpi_handle(),
        amount,
        &[],
    );
    let address = *accounts.provider.address();
    let provider = &mut accounts.provider;
    provider.stake = provider.stake.checked_add(amount).or_overflow()?;
    emit!(StakeAdded { provider: address, amount, stake: provider.stake });
    provider.invariant(accounts.stake_vault.amount())
}
