//! Anyone closes an applied fault when the time for claims is over, or nothing is left to claim. What is left of the pool
//! is burned.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::SlashClosed;
use crate::instructions::slashing::slash_apply::lease_of;
use crate::seeds;
use crate::state::{Fault, Lease, Market, Rewards, FAULT_APPLIED};
use crate::token::burn;

#[derive(Accounts)]
pub struct SlashClose {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = rewards.payout_vault @ MarketError::WrongAccount)]
    pub payout_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    /// The lease that the fault names, if it names one and has not compensated it.
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    #[account(mut, close = rent_payer)]
    pub fault: Account<Fault>,
    #[account(mut, address = fault.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    pub token_program: Program<Token>,
}

pub(crate) fn handler(ctx: &mut Context<SlashClose>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let fault = &accounts.fault;
    require!(fault.status == FAULT_APPLIED, MarketError::AppealWindowOpen);
    require!(now >= fault.claims_until || fault.pool_left == 0, MarketError::TooEarly);
    if fault.compensated == 0 {
        if let Some(lease) = lease_of(fault, accounts.lease.as_mut())? {
            lease.drop_fault()?;
        }
    }
    let burned = fault.pool_left;
    let rewards = &mut accounts.rewards;
    rewards.payouts = rewards.payouts.checked_sub(burned).or_overflow()?;
    if burned > 0 {
        let bump = [accounts.market.bump];
        let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
        burn(
            &accounts.token_program,
            accounts.payout_vault.cpi_handle_mut().into(),
            accounts.stake_mint.cpi_handle_mut().into(),
            accounts.market.cpi_handle(),
            burned,
            &[&signer],
        );
    }
    emit!(SlashClosed { fault: *accounts.fault.address(), burned });
    accounts.rewards.payouts_covered(accounts.payout_vault.amount())
}
