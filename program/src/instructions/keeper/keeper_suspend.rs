//! Anyone takes the weight and the place of a keeper that does not vote. Its bond stays, and its signer may activate it again after
//! the delay: less than a third of the weight delays reports only for as long as it takes to leave it out.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperSuspended;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_PENDING};

#[derive(Accounts)]
pub struct KeeperSuspend {
    #[account(mut)]
    pub market: Account<Market>,
    #[account(mut)]
    pub keeper: Account<Keeper>,
    #[account(seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()], bump = keeper.vault_bump)]
    pub stake_vault: Account<TokenAccount>,
}

pub(crate) fn handler(ctx: &mut Context<KeeperSuspend>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let (market, keeper) = (&mut accounts.market, &mut accounts.keeper);
    let idle = keeper.is_idle(market.final_reports, market.params.period_secs, now)?;
    require!(idle, MarketError::KeeperNotIdle);
    let reports = market.final_reports.checked_sub(keeper.voted_reports).or_overflow()?;
    market.unseat(keeper, KEEPER_PENDING, now)?;
    keeper.pending_since = now;
    emit!(KeeperSuspended { keeper: *keeper.address(), reports, total_weight: market.total_weight });
    keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
