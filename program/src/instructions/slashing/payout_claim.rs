//! Anyone sends a payout whose delay is over to its beneficiary.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::PayoutClaimed;
use crate::seeds;
use crate::state::{Market, Payout, Rewards};
use crate::token::{require_token_account, transfer};

#[derive(Accounts)]
pub struct PayoutClaim {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = rewards.payout_vault @ MarketError::WrongAccount)]
    pub payout_vault: Account<TokenAccount>,
    #[account(mut, close = rent_payer)]
    pub payout: Account<Payout>,
    #[account(mut, address = payout.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    /// A stake-token account of the beneficiary.
    #[account(mut)]
    pub tokens: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

pub(crate) fn handler(ctx: &mut Context<PayoutClaim>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let payout = &accounts.payout;
    require!(now >= payout.payable_at, MarketError::TooEarly);
    require_token_account(&accounts.tokens, &accounts.market.stake_mint, &payout.beneficiary)?;
    let rewards = &mut accounts.rewards;
    rewards.payouts = rewards.payouts.checked_sub(payout.amount).or_overflow()?;
    let bump = [accounts.market.bump];
    let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
    transfer(
        &accounts.token_program,
        accounts.payout_vault.cpi_handle_mut().into(),
        accounts.tokens.cpi_handle_mut().into(),
        accounts.market.cpi_handle(),
        payout.amount,
        &[&signer],
    );
    emit!(PayoutClaimed {
        payout: *payout.address(),
        beneficiary: payout.beneficiary,
        source: payout.source,
        amount: payout.amount,
    });
    accounts.rewards.payouts_covered(accounts.payout_vault.amount())
}
