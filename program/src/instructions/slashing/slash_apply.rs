//! Anyone applies a fault whose appeal window has passed. At least half is burned; what the customer gets waits in the
//! payout vault.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::FLAGS_NODE;
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::SlashApplied;
use crate::math::slashing::split;
use crate::seeds;
use crate::slashing::*;
use crate::state::{Fault, Lease, Market, Node, Provider, FAULT_DISPUTE};

#[derive(Accounts)]
pub struct SlashApply {
    /// Pays for the payout.
    #[account(mut, unsafe(dup))]
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
    #[account(mut, close = rent_payer)]
    pub fault: Account<Fault>,
    // Only its lamports change, so it may also be the payer.
    #[account(mut, unsafe(dup), address = fault.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    pub payouts: Nested<Payouts>,
}

/// One fault less for the provider, the node and the lease that wait for it.
pub fn settle_fault(
    fault: &Fault,
    provider: &mut Provider,
    node: &mut Node,
    lease: Option<&mut Account<Lease>>,
) -> Result<()> {
    provider.pending_faults = provider.pending_faults.checked_sub(1).or_overflow()?;
    node.pending_faults = node.pending_faults.checked_sub(1).or_overflow()?;
    if fault.lease == Address::default() {
        return Ok(());
    }
    match lease {
        Some(lease) if *lease.address() == fault.lease => {
            lease.pending_faults = lease.pending_faults.checked_sub(1).or_overflow()?;
            Ok(())
        }
        Some(_) => fail(MarketError::WrongAccount),
        None => fail(MarketError::MissingAccount),
    }
}

pub(crate) fn handler(ctx: &mut Context<SlashApply>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    let now = Clock::get()?.unix_timestamp;
    require!(now >= accounts.fault.applicable_at, MarketError::AppealWindowOpen);
    let fault = &accounts.fault;
    settle_fault(fault, &mut accounts.provider, &mut accounts.node, accounts.lease.as_mut())?;
    if fault.flags & FLAGS_NODE != 0 {
        accounts.node.suspend(true, now);
    }
    accounts.node.faulted_at = now;
    if fault.kind == FAULT_DISPUTE {
        accounts.node.lose_dispute(now);
        accounts.provider.lose_dispute(now);
    }
    let period_secs = accounts.market.params.period_secs;
    let amount = accounts.node.take_stake(&mut accounts.provider, fault.amount, now, period_secs)?;
    let mut shares = split(amount, fault.finder_bps)?.claimed(fault.harm)?;
    // Nobody is the finder of what a report says. That of a dispute is its claimant.
    if fault.finder == Address::default() {
        shares = shares.without_finder()?;
    }
    accounts.payouts.divide(
        Slashed {
            vault: &mut accounts.stake_vault,
            seed: Slashed::PROVIDER,
            wallet: accounts.provider.wallet,
            bump: accounts.provider.bump,
            authority: accounts.provider.cpi_handle(),
        },
        &shares,
    )?;
    let cooldown = accounts.market.params.unstake_cooldown_secs as i64;
    let credit = Credit {
        beneficiary: fault.customer,
        source: *fault.address(),
        amount: shares.held()?,
        payable_at: now.checked_add(cooldown).or_overflow()?,
    };
    accounts.payouts.credit(accounts.payer.account(), &credit)?;
    emit!(SlashApplied {
        fault: *accounts.fault.address(),
        provider: *accounts.provider.address(),
        amount,
        customer: shares.pool,
        finder: shares.finder,
        burned: shares.burned,
    });
    accounts.provider.invariant(accounts.stake_vault.amount())
}
