//! A customer closes its credits account, and gets the balance and the rent back.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::CreditsClosed;
use crate::seeds;
use crate::state::{Credits, Market};
use crate::token;

#[derive(Accounts)]
pub struct CreditsClose {
    #[account(mut)]
    pub customer: Signer,
    pub market: Account<Market>,
    #[account(
        mut,
        close = customer,
        constraint = credits.customer == *customer.address() @ MarketError::Unauthorised
    )]
    pub credits: Account<Credits>,
    #[account(
        mut,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump
    )]
    pub credits_vault: Account<TokenAccount>,
    /// A token account of the customer.
    #[account(mut)]
    pub to: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &CreditsClose) -> Result<()> {
    let credits = &accounts.credits;
    require!(
        credits.reserved == 0 && credits.live_orders == 0 && credits.live_leases == 0,
        MarketError::StillInUse
    );
    token::require_token_account(&accounts.to, &accounts.market.payment_mint, accounts.customer.address())
}

pub(crate) fn handler(ctx: &mut Context<CreditsClose>) -> Result<()> {
    validate(&ctx.accounts)?;
    let accounts = &mut ctx.accounts;
    accounts.credits.invariant(accounts.credits_vault.amount())?;
    let customer = *accounts.customer.address();
    let bump = [accounts.credits.bump];
    let signer: &[&[&[u8]]] = &[&[seeds::CREDITS, customer.as_ref(), &bump]];
    let amount = accounts.credits_vault.amount();
    if amount > 0 {
        token::transfer(
            &accounts.token_program,
            accounts.credits_vault.cpi_handle_mut().into(),
            accounts.to.cpi_handle_mut().into(),
            accounts.credits.cpi_handle(),
            amount,
            signer,
        );
    }
    token::close(
        &accounts.token_program,
        accounts.credits_vault.cpi_handle_mut().into(),
        accounts.customer.cpi_handle_mut().into(),
        accounts.credits.cpi_handle(),
        signer,
    );
    emit!(CreditsClosed { customer });
    Ok(())
}
