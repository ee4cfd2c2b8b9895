//! Anyone applies a fault whose appeal window has passed. Half of the slash is burned at once; a claimant's part of
//! an upheld dispute waits in a payout, and the rest waits for the claims of those that were harmed.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::FLAGS_NODE;
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::SlashApplied;
use crate::math::slashing::{split, Split};
use crate::seeds;
use crate::slashing::*;
use crate::state::{Fault, Lease, Market, Node, Provider, FAULT_APPLIED, FAULT_DISPUTE, FAULT_PENDING};

#[derive(Accounts)]
pub struct SlashApply {
    #[account(mut)]
    pub payer: Signer,
    pub market: Account<Market>,
    #[account(mut, address = fault.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    #[account(mut, address = fault.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    /// The lease that the fault names, if it names one.
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    #[account(mut)]
    pub fault: Account<Fault>,
    pub payouts: Nested<Payouts>,
}

/// One fault less for the provider and the node that wait for it.
pub fn settle_fault(fault: &Fault, provider: &mut Provider, node: &mut Node, now: i64) -> Result<()> {
    provider.pending_faults = provider.pending_faults.checked_sub(1).or_overflow()?;
    node.pending_faults = node.pending_faults.checked_sub(1).or_overflow()?;
    if fault.of_node() {
        node.thaw(now)?;
    }
    Ok(())
}

/// The lease that the fault names: none when it names none, an error when it is not the one given.
pub fn lease_of<'a>(
    fault: &Fault,
    given: Option<&'a mut Account<Lease>>,
) -> Result<Option<&'a mut Account<Lease>>> {
    if fault.of_node() {
        return Ok(None);
    }
    match given {
        Some(lease) if *lease.address() == fault.lease => Ok(Some(lease)),
        Some(_) => fail(MarketError::WrongAccount),
        None => fail(MarketError::MissingAccount),
    }
}

/// The fault stands: what it is about ends where it begins.
#[inline(never)]
fn convict(accounts: &mut SlashApply, now: i64) -> Result<()> {
    let (fault, node) = (&mut accounts.fault, &mut accounts.node);
    settle_fault(fault, &mut accounts.provider, node, now)?;
    node.faulted_at = now;
    if fault.kind == FAULT_DISPUTE {
        node.lose_dispute(now);
        accounts.provider.lose_dispute(now);
    }
    fault.status = FAULT_APPLIED;
    fault.claims_until = now.checked_add(fault.claim_secs as i64).or_overflow()?;
    match lease_of(fault, accounts.lease.as_mut())? {
        // It stays until it is compensated.
        Some(lease) => {
            let freezes = fault.freezes();
            lease.thaw(freezes)?;
            if freezes {
                node.cut(lease, fault.window_from, now)?;
            }
        }
        None => {
            if fault.flags & FLAGS_NODE != 0 {
                node.convict(fault.window_from, now);
            }
            fault.serial = node.open_claims(fault.window_from, fault.claims_until, now)?;
        }
    }
    Ok(())
}

/// Takes what the fault costs, out of what it has reserved and of what came free since, and divides it.
#[inline(never)]
fn slash(accounts: &mut SlashApply, now: i64) -> Result<Split> {
    let fault = &mut accounts.fault;
    accounts.node.release(fault.amount, now)?;
    let cost = fault.cost();
    fault.amount = accounts.node.take_stake(&mut accounts.provider, cost, now, fault.period_secs)?;
    let shares = split(fault.amount, fault.finder_bps)?;
    let shares = if fault.finder == Address::default() { shares.without_finder()? } else { shares };
    fault.pool = shares.pool;
    fault.pool_left = shares.pool;
    Ok(shares)
}

pub(crate) fn handler(ctx: &mut Context<SlashApply>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let now = Clock::get()?.unix_timestamp;
    require!(accounts.fault.status == FAULT_PENDING, MarketError::AlreadyApplied);
    require!(now >= accounts.fault.applicable_at, MarketError::AppealWindowOpen);
    convict(accounts, now)?;
    let shares = slash(accounts, now)?;
    let slashed = Slashed::stake_of(&mut accounts.provider, &mut accounts.stake_vault);
    accounts.payouts.divide(slashed, &shares)?;
    let fault = &accounts.fault;
    let credit = Credit {
        beneficiary: fault.finder,
        source: *fault.address(),
        amount: shares.finder,
        payable_at: now.checked_add(fault.payout_secs as i64).or_overflow()?,
    };
    accounts.payouts.credit(accounts.payer.account(), &credit)?;
    emit!(SlashApplied {
        fault: *fault.address(),
        provider: fault.provider,
        amount: fault.amount,
        pool: fault.pool,
        finder: shares.finder,
        burned: shares.burned,
        claims_until: fault.claims_until,
    });
    fault.invariant()?;
    accounts.node.invariant()?;
    accounts.provider.invariant(accounts.stake_vault.amount())
}
