//! Stake whose cooldown has passed goes back to its owner. Faults hold the stake of their nodes, not this.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::StakeWithdrawn;
use crate::seeds;
use crate::state::{Market, Provider};
use crate::token;

#[derive(Accounts)]
pub struct ProviderWithdrawStake {
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
    /// A token account of the wallet.
    #[account(mut)]
    pub to: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &ProviderWithdrawStake, now: i64) -> Result<()> {
    let provider = &accounts.provider;
    require!(provider.unstaking != 0, MarketError::ZeroAmount);
    require!(now >= provider.unstake_at, MarketError::TooEarly);
    token::require_token_account(&accounts.to, &accounts.market.stake_mint, accounts.wallet.address())
}

pub(crate) fn handler(ctx: &mut Context<ProviderWithdrawStake>) -> Result<()> {
    validate(&ctx.accounts, Clock::get()?.unix_timestamp)?;
    let accounts = &mut ctx.accounts;
    let amount = accounts.provider.unstaking;
    accounts.provider.unstaking = 0;
    accounts.provider.unstake_at = 0;
    token::transfer(
        &accounts.token_program,
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.to.cpi_handle_mut().into(),
        accounts.provider.cpi_handle(),
        amount,
        &[&[seeds::PROVIDER, accounts.wallet.address().as_ref(), &[accounts.provider.bump]]],
    );
    emit!(StakeWithdrawn { provider: *accounts.provider.address(), amount });
    accounts.provider.invariant(accounts.stake_vault.amount())
}
