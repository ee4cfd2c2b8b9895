//! A customer deposits credits. The first deposit opens the account.

use anchor_lang::prelude::*;
use anchor_spl::token::{self, Mint, Token, TokenAccount};

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::CreditsDeposited;
use crate::seeds;
use crate::state::{Credits, Market};
use crate::token::{require_token_account, transfer};

#[derive(Accounts)]
pub struct CreditsDeposit {
    #[account(mut)]
    pub customer: Signer,
    pub market: Account<Market>,
    #[account(address = market.payment_mint @ MarketError::WrongMint)]
    pub payment_mint: Account<Mint>,
    #[account(
        init_if_needed,
        payer = customer,
        seeds = [seeds::CREDITS, customer.address().as_ref()],
        bump = credits.bump
    )]
    pub credits: Account<Credits>,
    #[account(
        init_if_needed,
        payer = customer,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump,
        token::mint = payment_mint,
        token::authority = credits
    )]
    pub credits_vault: Account<TokenAccount>,
    /// Payment tokens of the customer.
    #[account(mut)]
    pub from: Account<TokenAccount>,
    pub token_program: Program<Token>,
    pub system_program: Program<System>,
}

fn validate(accounts: &CreditsDeposit, amount: u64) -> Result<()> {
    require!(amount > 0, MarketError::ZeroAmount);
    require_token_account(&accounts.from, &accounts.market.payment_mint, accounts.customer.address())?;
    require!(accounts.from.amount() >= amount, MarketError::InsufficientFunds);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<CreditsDeposit>, amount: u64) -> Result<()> {
    validate(&ctx.accounts, amount)?;
    let accounts = &mut ctx.accounts;
    transfer(
        &accounts.token_program,
        accounts.from.cpi_handle_mut().into(),
        accounts.credits_vault.cpi_handle_mut().into(),
        accounts.customer.cpi_handle(),
        amount,
        &[],
    );
    let customer = *accounts.customer.address();
    let credits = &mut accounts.credits;
    if credits.version == 0 {
        credits.customer = customer;
        credits.version = VERSION;
        credits.bump = ctx.bumps.credits;
        credits.vault_bump = ctx.bumps.credits_vault;
    }
    credits.balance = credits.balance.checked_add(amount).or_overflow()?;
    emit!(CreditsDeposited { customer, amount, balance: credits.balance });
    credits.invariant(accounts.credits_vault.amount())
}
