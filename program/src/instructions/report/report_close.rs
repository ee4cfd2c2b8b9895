//! Anyone closes a report when the time to apply its leaves is over. Its rent goes back.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::ReportClosed;
use crate::math::periods::period_end;
use crate::state::{Market, Report, Rewards};

#[derive(Accounts)]
pub struct ReportClose {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, close = rent_payer)]
    pub report: Account<Report>,
    #[account(
        mut,
        constraint = *rent_payer.address() == report.rent_payer @ MarketError::WrongAccount
    )]
    pub rent_payer: UncheckedAccount,
}

pub(crate) fn handler(ctx: &mut Context<ReportClose>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let (params, report) = (&accounts.market.params, &accounts.report);
    let since = period_end(report.period, params.period_secs)?.max(report.finalised_at);
    let until = since.checked_add(params.report_retention_secs as i64).or_overflow()?;
    require!(Clock::get()?.unix_timestamp > until, MarketError::TooEarly);
    // What its voters have not claimed is shared again.
    let rewards = &mut accounts.rewards;
    rewards.allocated = rewards.allocated.checked_sub(report.reward_left).or_overflow()?;
    rewards.pending = rewards.pending.checked_add(report.reward_left).or_overflow()?;
    emit!(ReportClosed { period: report.period });
    Ok(())
}
