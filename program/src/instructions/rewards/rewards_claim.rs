//! Anyone pays a keeper what it has earned: by awards, and by its vote for the root of a report. The money goes to a
//! token account of the keeper's wallet, whoever sends this.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::RewardsClaimed;
use crate::seeds;
use crate::state::{Keeper, Market, Report, Rewards};
use crate::token::{require_token_account, transfer};

#[derive(Accounts)]
pub struct RewardsClaim {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut)]
    pub keeper: Account<Keeper>,
    /// A rewarded report that the keeper voted for, if its share of one is claimed.
    #[account(mut)]
    pub report: Option<Account<Report>>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    /// A payment-token account of the keeper's wallet.
    #[account(mut)]
    pub tokens: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

pub(crate) fn handler(ctx: &mut Context<RewardsClaim>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let (rewards, keeper) = (&mut accounts.rewards, &mut accounts.keeper);
    require_token_account(&accounts.tokens, &accounts.market.payment_mint, &keeper.wallet)?;
    let by_awards = keeper.earned;
    let by_vote = match accounts.report.as_mut() {
        Some(report) => report.take_reward(keeper)?,
        None => 0,
    };
    let amount = by_awards.checked_add(by_vote).or_overflow()?;
    require!(amount > 0, MarketError::NothingOwed);
    keeper.earned = 0;
    rewards.earned = rewards.earned.checked_sub(by_awards).or_overflow()?;
    rewards.allocated = rewards.allocated.checked_sub(by_vote).or_overflow()?;
    let bump = [accounts.market.bump];
    let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
    transfer(
        &accounts.token_program,
        accounts.fee_vault.cpi_handle_mut().into(),
        accounts.tokens.cpi_handle_mut().into(),
        accounts.market.cpi_handle(),
        amount,
        &[&signer],
    );
    emit!(RewardsClaimed { keeper: accounts.keeper.wallet, by_awards, by_vote });
    accounts.rewards.invariant(accounts.fee_vault.amount())
}
