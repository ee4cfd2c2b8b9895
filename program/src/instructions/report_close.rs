//! Anyone closes a report whose leaves had their time; its rent goes back.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::ReportClosed;
use crate::math::periods::period_end;
use crate::state::{Market, Report};

#[derive(Accounts)]
pub struct ReportClose {
    pub market: Account<Market>,
    #[account(mut, close = rent_payer)]
    pub report: Account<Report>,
    #[account(mut, address = report.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
}

pub fn handler(ctx: &mut Context<ReportClose>) -> Result<()> {
    let params = &ctx.accounts.market.params;
    let report = &ctx.accounts.report;
    let since = period_end(report.period, params.period_secs)?.max(report.finalised_at);
    let until = since.checked_add(params.report_retention_secs as i64).or_overflow()?;
    if Clock::get()?.unix_timestamp <= until {
        return fail(MarketError::TooEarly);
    }
    emit!(ReportClosed { period: report.period });
    Ok(())
}
