//! Anyone closes a dispute that the customer has not won: rejected by the quorum, which costs the deposit, or not
//! decided in time, which costs nothing.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::DisputeResolved;
use crate::seeds;
use crate::state::{Credits, Dispute, Lease, Market, Node, Provider, Rewards, Verdict};
use crate::token::transfer;

#[derive(Accounts)]
pub struct DisputeResolve {
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    #[account(mut, constraint = credits.customer == dispute.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(
        mut,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump
    )]
    pub credits_vault: Account<TokenAccount>,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = dispute.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = dispute.lease @ MarketError::WrongAccount)]
    pub lease: Account<Lease>,
    #[account(mut, close = customer)]
    pub dispute: Account<Dispute>,
    #[account(mut, address = dispute.customer @ MarketError::WrongAccount)]
    pub customer: UncheckedAccount,
    pub token_program: Program<Token>,
}

pub(crate) fn handler(ctx: &mut Context<DisputeResolve>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let dispute = &accounts.dispute;
    let deposit = dispute.deposit;
    let lost = match dispute.verdict(accounts.market.params.quorum_bps) {
        Verdict::Rejected => deposit,
        Verdict::None if now >= dispute.closes_at => 0,
        Verdict::None => return fail(MarketError::TooEarly),
        // Then the fault must be opened: see dispute_uphold.
        Verdict::Upheld => return fail(MarketError::DisputeUpheld),
    };
    let lease = &mut accounts.lease;
    lease.pending_faults = lease.pending_faults.checked_sub(1).or_overflow()?;
    let (node, provider) = (&mut accounts.node, &mut accounts.provider);
    node.pending_faults = node.pending_faults.checked_sub(1).or_overflow()?;
    provider.pending_faults = provider.pending_faults.checked_sub(1).or_overflow()?;
    let credits = &mut accounts.credits;
    if lost > 0 {
        credits.pay(lost)?;
        let rewards = &mut accounts.rewards;
        rewards.pending = rewards.pending.checked_add(lost).or_overflow()?;
        let customer = credits.customer;
        let bump = [credits.bump];
        let signer: [&[u8]; 3] = [seeds::CREDITS, customer.as_ref(), &bump];
        transfer(
            &accounts.token_program,
            accounts.credits_vault.cpi_handle_mut().into(),
            accounts.fee_vault.cpi_handle_mut().into(),
            accounts.credits.cpi_handle(),
            lost,
            &[&signer],
        );
    } else {
        credits.release(deposit)?;
    }
    emit!(DisputeResolved {
        dispute: *accounts.dispute.address(),
        lease: accounts.dispute.lease,
        upheld: 0,
        deposit_lost: lost,
        upheld_weight: accounts.dispute.upheld_weight,
        rejected_weight: accounts.dispute.rejected_weight,
    });
    accounts.rewards.invariant(accounts.fee_vault.amount())?;
    accounts.credits.invariant(accounts.credits_vault.amount())
}
