//! Anyone splits the fees swept so far: the treasury is paid, a part waits for a buy-back, and the rest is set aside
//! for the keepers that voted for a report in time.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::RewardsAccrued;
use crate::math::fees::{fee_shares, FeeShares};
use crate::math::periods::period_end;
use crate::seeds;
use crate::state::{Market, Report, Rewards, REPORT_FINAL};
use crate::token::{can_receive, transfer};

#[derive(Accounts)]
pub struct RewardsAccrue {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut)]
    pub report: Account<Report>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    /// Not typed: where it cannot be paid, the fees go on without it.
    #[account(mut, address = market.treasury @ MarketError::WrongAccount)]
    pub treasury: UncheckedAccount,
    pub token_program: Program<Token>,
}

/// A report is rewarded once, one period after its own ended so that slower voters are in it, and never before an older
/// one: else a keeper could steer the fees to a period in which it voted and others did not.
fn validate(accounts: &RewardsAccrue, now: i64) -> Result<()> {
    let (report, rewards) = (&accounts.report, &accounts.rewards);
    require!(report.status == REPORT_FINAL, MarketError::ReportNotFinal);
    require!(report.period > rewards.last_period, MarketError::AlreadyApplied);
    let next = report.period.checked_add(1).or_overflow()?;
    require!(now >= period_end(next, accounts.market.params.period_secs)?, MarketError::TooEarly);
    require!(rewards.pending > 0, MarketError::NothingOwed);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<RewardsAccrue>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let params = &accounts.market.params;
    let (rewards, report) = (&mut accounts.rewards, &mut accounts.report);
    let FeeShares { mut treasury, mut buy_back, voters: pool } =
        fee_shares(rewards.pending, params.award_bps, params.treasury_bps, params.burn_bps)?;
    // Its owner could close it, and the issuer of its mint freeze it: neither may stop what keepers have earned.
    if !can_receive(accounts.treasury.account(), &accounts.token_program, &accounts.market.payment_mint)? {
        buy_back = buy_back.checked_add(treasury).or_overflow()?;
        treasury = 0;
    }
    rewards.pending = 0;
    rewards.add_to_buy_back(buy_back, now)?;
    rewards.allocated = rewards.allocated.checked_add(pool).or_overflow()?;
    rewards.last_period = report.period;
    report.reward_with(pool);
    if treasury > 0 {
        let bump = [accounts.market.bump];
        let signer: [&[u8]; 2] = [seeds::MARKET, &bump];
        transfer(
            &accounts.token_program,
            accounts.fee_vault.cpi_handle_mut().into(),
            accounts.treasury.cpi_handle_mut().into(),
            accounts.market.cpi_handle(),
            treasury,
            &[&signer],
        );
    }
    emit!(RewardsAccrued { period: accounts.report.period, pool, treasury, buy_back });
    // Roots behind the struct are as votes left them.
    accounts.report.invariant(&[])?;
    accounts.rewards.invariant(accounts.fee_vault.amount())
}
