//! A provider without nodes, stake and pending faults closes its account, and gets the rent back.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::ProviderClosed;
use crate::seeds;
use crate::state::{Market, Provider};
use crate::token;

#[derive(Accounts)]
pub struct ProviderClose {
    #[account(mut)]
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(
        mut,
        close = wallet,
        constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised
    )]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    /// A token account of the wallet, for what others may have sent to the vault.
    #[account(mut)]
    pub to: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &ProviderClose) -> Result<()> {
    let provider = &accounts.provider;
    require!(provider.pending_faults == 0, MarketError::FaultPending);
    let in_use = provider.node_count > 0
        || provider.live_leases > 0
        || provider.locked_stake > 0
        || provider.held()? > 0;
    require!(!in_use, MarketError::StillInUse);
    token::require_token_account(&accounts.to, &accounts.market.stake_mint, accounts.wallet.address())
}

pub(crate) fn handler(ctx: &mut Context<ProviderClose>) -> Result<()> {
    validate(&ctx.accounts)?;
    let accounts = &mut ctx.accounts;
    let wallet = *accounts.wallet.address();
    let bump = [accounts.provider.bump];
    let signer: &[&[&[u8]]] = &[&[seeds::PROVIDER, wallet.as_ref(), &bump]];
    let excess = accounts.stake_vault.amount();
    if excess > 0 {
        token::transfer(
            &accounts.token_program,
            accounts.stake_vault.cpi_handle_mut().into(),
            accounts.to.cpi_handle_mut().into(),
            accounts.provider.cpi_handle(),
            excess,
            signer,
        );
    }
    token::close(
        &accounts.token_program,
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.wallet.cpi_handle_mut().into(),
        accounts.provider.cpi_handle(),
        signer,
    );
    emit!(ProviderClosed { provider: *accounts.provider.address() });
    Ok(())
}
