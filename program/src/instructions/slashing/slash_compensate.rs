//! Anyone has an applied fault compensate one lease that it harmed: once, out of the lease's own part of the pool. What
//! other leases get, and when, makes no difference to it.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::SlashCompensated;
use crate::slashing::{credit_payout, Credit};
use crate::state::{Fault, Lease, Node, FAULT_APPLIED};

#[derive(Accounts)]
pub struct SlashCompensate {
    #[account(mut)]
    pub payer: Signer,
    #[account(mut, address = fault.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, constraint = lease.node == fault.node @ MarketError::WrongAccount)]
    pub lease: Account<Lease>,
    #[account(mut)]
    pub fault: Account<Fault>,
    /// The payout of the lease's customer for this fault: made here when it is not there yet.
    #[account(mut)]
    pub payout: UncheckedAccount,
    pub system_program: Program<System>,
}

/// Notes that the lease has had its part, and ends it where a conviction of its node begins.
fn note(accounts: &mut SlashCompensate, now: i64) -> Result<()> {
    let (fault, lease) = (&mut accounts.fault, &mut accounts.lease);
    require!(fault.status == FAULT_APPLIED, MarketError::AppealWindowOpen);
    require!(lease.started_at != 0, MarketError::WrongLeaseStatus);
    if fault.of_node() {
        require!(lease.note_fault(fault.serial), MarketError::AlreadyCounted);
        if accounts.node.convicted_from != 0 {
            let from = accounts.node.convicted_from;
            accounts.node.cut(lease, from, now)?;
        }
        return Ok(());
    }
    require!(fault.lease == *lease.address(), MarketError::WrongAccount);
    require!(fault.compensated == 0, MarketError::AlreadyCounted);
    fault.compensated = 1;
    lease.drop_fault()
}

pub(crate) fn handler(ctx: &mut Context<SlashCompensate>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    note(accounts, now)?;
    let (fault, lease) = (&mut accounts.fault, &mut accounts.lease);
    let part = fault.part_of(lease)?;
    let (lost, harm) = fault.harm_of(lease)?;
    let amount = part.min(harm).min(fault.pool_left);
    fault.pool_left = fault.pool_left.checked_sub(amount).or_overflow()?;
    // Only what this fault really gives is made good: one with an empty pool takes nothing from what others owe.
    let made_good = if amount == harm { lost } else { lost.min(fault.worth_of(amount)?) };
    lease.compensated = lease.compensated.checked_add(made_good).or_overflow()?;
    let credit = Credit {
        beneficiary: lease.customer,
        source: *fault.address(),
        amount,
        payable_at: now.checked_add(fault.payout_secs as i64).or_overflow()?,
    };
    credit_payout(accounts.payer.account(), accounts.payout.account(), &credit)?;
    emit!(SlashCompensated {
        fault: credit.source,
        lease: *lease.address(),
        customer: credit.beneficiary,
        amount,
    });
    fault.invariant()?;
    lease.invariant(now)?;
    accounts.node.invariant()
}
