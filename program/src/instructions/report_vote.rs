//! A keeper votes for the root of a period's report. The vote that completes the quorum makes it final.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::{ReportFinalised, ReportVoted};
use crate::math::periods::period_end;
use crate::planted::planted;
use crate::seeds;
use crate::state::{Keeper, Market, Report, KEEPER_ACTIVE, REPORT_OPEN};

#[derive(Accounts)]
#[instruction(period: u64)]
pub struct ReportVote {
    #[account(mut)]
    pub wallet: Signer,
    #[account(mut, constraint = keeper.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(
        init_if_needed,
        payer = wallet,
        seeds = [seeds::REPORT, &period.to_le_bytes()],
        bump
    )]
    pub report: Account<Report>,
    pub system_program: Program<System>,
}

/// Only keepers that were active when the period ended vote, so that votes never weigh more than the total that
/// the report started with.
fn validate(accounts: &ReportVote, period: u64, now: i64) -> Result<()> {
    let params = &accounts.market.params;
    let end = period_end(period, params.period_secs)?;
    if now < end {
        return fail(MarketError::PeriodNotEnded);
    }
    if now > end.checked_add(params.report_retention_secs as i64).or_overflow()? {
        return fail(MarketError::TooLate);
    }
    let keeper = &accounts.keeper;
    if keeper.status != KEEPER_ACTIVE || planted!(29, false, keeper.active_since >= end) {
        return fail(MarketError::KeeperNotActive);
    }
    Ok(())
}

pub fn handler(ctx: &mut Context<ReportVote>, period: u64, root: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, period, now)?;
    let bump = ctx.bumps.report;
    let accounts = &mut ctx.accounts;
    let wallet = *accounts.wallet.address();
    let (report, keeper) = (&mut accounts.report, &mut accounts.keeper);
    if report.version == 0 {
        report.period = period;
        report.total_weight = accounts.market.total_weight;
        report.created_at = now;
        report.rent_payer = wallet;
        report.status = REPORT_OPEN;
        report.version = VERSION;
        report.bump = bump;
    }
    if !report.vote(&root, keeper.index, &wallet, keeper.weight)? {
        return Ok(());
    }
    if keeper.last_vote_period != 0 {
        let skipped = period.saturating_sub(keeper.last_vote_period).saturating_sub(1);
        keeper.misses = keeper.misses.checked_add(skipped).or_overflow()?;
    }
    keeper.votes = keeper.votes.checked_add(1).or_overflow()?;
    keeper.last_vote_period = keeper.last_vote_period.max(period);
    emit!(ReportVoted { period, keeper: wallet, root, weight: keeper.weight });
    if report.finalise(accounts.market.params.quorum_bps, now) {
        let weight = report.candidates.iter().find(|c| c.root == root).map_or(0, |c| c.weight);
        emit!(ReportFinalised { period, root, weight, total_weight: report.total_weight });
    }
    report.invariant()
}
