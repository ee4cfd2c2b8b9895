//! A provider requests stake back that no node has. It waits for the cooldown.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::UnstakeRequested;
use crate::seeds;
use crate::state::{Market, Provider};

#[derive(Accounts)]
pub struct ProviderRequestUnstake {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub provider: Account<Provider>,
    #[account(seeds = [seeds::STAKE_VAULT, provider.address().as_ref()], bump = provider.vault_bump)]
    pub stake_vault: Account<TokenAccount>,
}

fn validate(provider: &Provider, amount: u64) -> Result<()> {
    require!(amount > 0, MarketError::ZeroAmount);
    let rest = provider.stake.checked_sub(amount).ok_or(MarketError::InsufficientStake)?;
    require!(rest >= provider.locked_stake, MarketError::InsufficientStake);
    Ok(())
}

/// The cooldown restarts for everything that is already on its way out: one date, no queue.
pub(crate) fn handler(ctx: &mut Context<ProviderRequestUnstake>, amount: u64) -> Result<()> {
    let accounts = &mut ctx.accounts;
    validate(&accounts.provider, amount)?;
    let now = Clock::get()?.unix_timestamp;
    let cooldown = accounts.market.params.unstake_cooldown_secs as i64;
    let unstake_at = now.checked_add(cooldown).or_overflow()?;
    let address = *accounts.provider.address();
    let provider = &mut accounts.provider;
    provider.stake = provider.stake.checked_sub(amount).or_overflow()?;
    provider.unstaking = provider.unstaking.checked_add(amount).or_overflow()?;
    provider.unstake_at = unstake_at;
    emit!(UnstakeRequested { provider: address, amount, unstake_at });
    provider.invariant(accounts.stake_vault.amount())
}
