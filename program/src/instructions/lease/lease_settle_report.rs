//! Pays for the seconds that finalised reports have verified.

use anchor_lang::prelude::*;

use crate::instructions::lease::lease_settle::*;

#[derive(Accounts)]
pub struct LeaseSettleReport {
    pub settlement: Nested<Settlement>,
}

pub(crate) fn handler(ctx: &mut Context<LeaseSettleReport>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    ctx.accounts.settlement.require_started()?;
    ctx.accounts.settlement.pay(SOURCE_REPORT, now)
}
