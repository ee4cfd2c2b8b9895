//! A keeper votes for the root of a period's report. The vote that completes the quorum makes the report final. Until
//! then a keeper may move its vote to a root that then weighs more than the one that it leaves: see `Report::ballot`.
//!
//! Wrong roots cannot keep a right one out: when the four places of the report are taken, its account grows by one, and
//! the keeper that votes for the new root pays its rent. See state/report_tail.rs.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::{ReportFinalised, ReportVoted};
use crate::math::periods::period_end;
use crate::seeds;
use crate::state::{
    create_report, report_parts, vote, Ballot, Keeper, Market, KEEPER_ACTIVE, REPORT_FINAL, REPORT_OPEN,
};

#[derive(Accounts)]
#[instruction(period: u64)]
pub struct ReportVote {
    #[account(mut)]
    pub signer: Signer,
    #[account(mut, constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    /// Counts the reports that become final.
    #[account(mut)]
    pub market: Account<Market>,
    /// The period's report. The first vote creates it. The framework's own `init_if_needed` wants one length.
    #[account(mut, seeds = [seeds::REPORT, &period.to_le_bytes()], bump)]
    pub report: UncheckedAccount,
    pub system_program: Program<System>,
}

/// Only keepers that were active when the period ended vote, so that votes never weigh more than the total that the
/// report started with.
fn validate(accounts: &ReportVote, period: u64, now: i64) -> Result<()> {
    let params = &accounts.market.params;
    let end = period_end(period, params.period_secs)?;
    require!(now >= end, MarketError::PeriodNotEnded);
    require!(
        now <= end.checked_add(params.report_retention_secs as i64).or_overflow()?,
        MarketError::TooLate
    );
    let keeper = &accounts.keeper;
    require!(keeper.status == KEEPER_ACTIVE && keeper.active_since < end, MarketError::KeeperNotActive);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<ReportVote>, period: u64, root: [u8; 32]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, period, now)?;
    let bump = ctx.bumps.report;
    let accounts = &mut ctx.accounts;
    let (payer, keeper) = (*accounts.signer.account(), &mut accounts.keeper);
    let mut view = *accounts.report.account();
    if view.data_len() == 0 {
        create_report(&mut view, &payer, period, bump)?;
        let mut data = view.try_borrow_mut()?;
        let (report, _) = report_parts(&mut data)?;
        report.period = period;
        report.total_weight = accounts.market.total_weight;
        report.created_at = now;
        report.rent_payer = *payer.address();
        report.status = REPORT_OPEN;
        report.version = VERSION;
        report.bump = bump;
    } else if !view.owned_by(&crate::ID) {
        return Err(ProgramError::IllegalOwner);
    }
    let ballot = vote(&mut view, &payer, &root, keeper)?;
    if matches!(ballot, Ballot::Again) {
        return Ok(());
    }
    emit!(ReportVoted { period, keeper: keeper.wallet, root, weight: keeper.weight });
    let mut data = view.try_borrow_mut()?;
    let (report, tail) = report_parts(&mut data)?;
    let params = &accounts.market.params;
    let in_time = report.in_time(params.period_secs, now)?;
    let final_before = report.status == REPORT_FINAL;
    // A vote that moves is in its keeper's record already.
    if matches!(ballot, Ballot::First) {
        if in_time {
            // This report counts as voted on, also once it is final.
            let reports = accounts.market.final_reports;
            keeper.takes_part(reports.checked_add(u64::from(!final_before)).or_overflow()?, now);
        }
        if keeper.last_vote_period != 0 {
            let skipped = period.saturating_sub(keeper.last_vote_period).saturating_sub(1);
            keeper.misses = keeper.misses.checked_add(skipped).or_overflow()?;
        }
        keeper.votes = keeper.votes.checked_add(1).or_overflow()?;
        keeper.last_vote_period = keeper.last_vote_period.max(period);
    }
    if in_time {
        report.admit_to_reward(&root, keeper)?;
    }
    if report.finalise(params.quorum_bps, now) {
        let root = report.root;
        accounts.market.final_reports = accounts.market.final_reports.checked_add(1).or_overflow()?;
        emit!(ReportFinalised {
            period,
            root,
            weight: report.reward_weight,
            total_weight: report.total_weight
        });
    }
    report.invariant(tail)
}
