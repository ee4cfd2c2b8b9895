//! Anyone burns stake tokens and takes the fees that wait for a buy-back, at a price that rises until someone does.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::BoughtBack;
use crate::seeds;
use crate::state::{Market, Rewards};
use crate::token::{burn, require_mint, transfer};

#[derive(Accounts)]
pub struct RewardsBuyBack {
    /// Owner of the stake tokens that are burned.
    pub buyer: Signer,
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    #[account(mut)]
    pub buyer_stake: Account<TokenAccount>,
    #[account(mut)]
    pub buyer_payment: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

/// `max_burn` protects the buyer when somebody else is faster and the price begins anew, base units of the stake token.
pub(crate) fn handler(ctx: &mut Context<RewardsBuyBack>, max_burn: u64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    require_mint(&accounts.buyer_stake, &accounts.market.stake_mint)?;
    require_mint(&accounts.buyer_payment, &accounts.market.payment_mint)?;
    let rewards = &mut accounts.rewards;
    let paid = rewards.buy_back;
    require!(paid > 0, MarketError::NothingOwed);
    let burned = rewards.buy_back_cost(&accounts.market.params, now)?;
    require!(burned <= max_burn, MarketError::PriceTooHigh);
    rewards.buy_back = 0;
    rewards.buy_back_since = now;
    rewards.bought_back = rewards.bought_back.checked_add(burned).or_overflow()?;
    burn(
        &accounts.token_program,
        accounts.buyer_stake.cpi_handle_mut().into(),
        accounts.stake_mint.cpi_handle_mut().into(),
        accounts.buyer.cpi_handle(),
        burned,
        &[],
    );
    let bump = [accounts.market.bump];
    let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
    transfer(
        &accounts.token_program,
        accounts.fee_vault.cpi_handle_mut().into(),
        accounts.buyer_payment.cpi_handle_mut().into(),
        accounts.market.cpi_handle(),
        paid,
        &[&signer],
    );
    emit!(BoughtBack { buyer: *accounts.buyer.address(), burned, paid });
    accounts.rewards.invariant(accounts.fee_vault.amount())
}
