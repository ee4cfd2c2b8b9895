//! A customer withdraws free credits.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::CreditsWithdrawn;
use crate::seeds;
use crate::state::{Credits, Market};
use crate::token;

#[derive(Accounts)]
pub struct CreditsWithdraw {
    pub customer: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = credits.customer == *customer.address() @ MarketError::Unauthorised)]
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

fn validate(accounts: &CreditsWithdraw, amount: u64) -> Result<()> {
    require!(amount > 0, MarketError::ZeroAmount);
    require!(amount <= accounts.credits.free()?, MarketError::InsufficientFunds);
    token::require_token_account(&accounts.to, &accounts.market.payment_mint, accounts.customer.address())
}

pub(crate) fn handler(ctx: &mut Context<CreditsWithdraw>, amount: u64) -> Result<()> {
    validate(&ctx.accounts, amount)?;
    let accounts = &mut ctx.accounts;
    let customer = *accounts.customer.address();
    let balance = accounts.credits.balance.checked_sub(amount).or_overflow()?;
    accounts.credits.balance = balance;
    token::transfer(
        &accounts.token_program,
        accounts.credits_vault.cpi_handle_mut().into(),
        accounts.to.cpi_handle_mut().into(),
        accounts.credits.cpi_handle(),
        amount,
        &[&[seeds::CREDITS, customer.as_ref(), &[accounts.credits.bump]]],
    );
    emit!(CreditsWithdrawn { customer, amount, balance });
    accounts.credits.invariant(accounts.credits_vault.amount())
}
