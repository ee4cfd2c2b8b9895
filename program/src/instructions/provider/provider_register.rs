//! A wallet registers as a provider, with a vault for its stake.

use anchor_lang::prelude::*;
use anchor_spl::token::{self, Mint, Token, TokenAccount};

use crate::constants::VERSION;
use crate::errors::MarketError;
use crate::events::ProviderRegistered;
use crate::seeds;
use crate::state::{Market, Provider};
use crate::token::require_token_account;

#[derive(Accounts)]
pub struct ProviderRegister {
    #[account(mut)]
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    #[account(init, payer = wallet, seeds = [seeds::PROVIDER, wallet.address().as_ref()], bump)]
    pub provider: Account<Provider>,
    #[account(
        init,
        payer = wallet,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump,
        token::mint = stake_mint,
        token::authority = provider
    )]
    pub stake_vault: Account<TokenAccount>,
    /// Where earnings go.
    pub payout: Account<TokenAccount>,
    pub token_program: Program<Token>,
    pub system_program: Program<System>,
}

fn validate(accounts: &ProviderRegister) -> Result<()> {
    require_token_account(&accounts.payout, &accounts.market.payment_mint, accounts.wallet.address())
}

pub(crate) fn handler(ctx: &mut Context<ProviderRegister>) -> Result<()> {
    validate(&ctx.accounts)?;
    let accounts = &mut ctx.accounts;
    let wallet = *accounts.wallet.address();
    let address = *accounts.provider.address();
    let provider = &mut accounts.provider;
    provider.wallet = wallet;
    provider.payout = *accounts.payout.address();
    provider.registered_at = Clock::get()?.unix_timestamp;
    provider.version = VERSION;
    provider.bump = ctx.bumps.provider;
    provider.vault_bump = ctx.bumps.stake_vault;
    emit!(ProviderRegistered { provider: address, wallet });
    provider.invariant(accounts.stake_vault.amount())
}
