//! A provider names another token account for its earnings.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::MarketError;
use crate::events::ProviderPayoutSet;
use crate::state::{Market, Provider};
use crate::token;

#[derive(Accounts)]
pub struct ProviderSetPayout {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub provider: Account<Provider>,
    pub payout: Account<TokenAccount>,
}

fn validate(accounts: &ProviderSetPayout) -> Result<()> {
    token::require_token_account(&accounts.payout, &accounts.market.payment_mint, accounts.wallet.address())
}

pub(crate) fn handler(ctx: &mut Context<ProviderSetPayout>) -> Result<()> {
    validate(&ctx.accounts)?;
    let payout = *ctx.accounts.payout.address();
    ctx.accounts.provider.payout = payout;
    emit!(ProviderPayoutSet { provider: *ctx.accounts.provider.address(), payout });
    Ok(())
}
