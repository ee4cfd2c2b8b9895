//! Anyone closes a dispute that the customer has not won: rejected by the quorum, which costs the deposit, or not
//! decided in time, which costs a quarter of it.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::DisputeResolved;
use crate::math::dispute::DepositShares;
use crate::seeds;
use crate::state::{Credits, Dispute, Lease, Market, Node, Provider, Rewards, Verdict};
use crate::token::{can_receive, transfer};

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
    #[account(address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    /// Where the provider's part goes; when it takes no payments any more, that part goes to the buy-back.
    #[account(mut, address = provider.payout @ MarketError::WrongAccount)]
    pub payout: UncheckedAccount,
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

/// Who gets what of the deposit.
fn shares(accounts: &DisputeResolve, now: i64) -> Result<DepositShares> {
    let dispute = &accounts.dispute;
    let mut shares = match dispute.verdict() {
        Verdict::Rejected => DepositShares::rejected(dispute.deposit),
        Verdict::None if now >= dispute.closes_at => DepositShares::undecided(dispute.deposit),
        Verdict::None => return fail(MarketError::TooEarly),
        // Then the fault must be opened: see dispute_uphold.
        Verdict::Upheld => return fail(MarketError::DisputeUpheld),
    };
    // Otherwise a provider that closes its account would hold the customer's deposit and the lease for ever.
    if !can_receive(accounts.payout.account(), &accounts.token_program, &accounts.market.payment_mint)? {
        shares.buy_back = shares.buy_back.checked_add(shares.provider).or_overflow()?;
        shares.provider = 0;
    }
    // What the issuer of the payment token has frozen stays with the customer: the provider's stake does not wait for it.
    if accounts.credits_vault.is_frozen() {
        shares.provider = 0;
    }
    if accounts.credits_vault.is_frozen() || accounts.fee_vault.is_frozen() {
        shares.buy_back = 0;
    }
    Ok(shares)
}

pub(crate) fn handler(ctx: &mut Context<DisputeResolve>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let shares = shares(accounts, now)?;
    let lease = &mut accounts.lease;
    lease.pending_faults = lease.pending_faults.checked_sub(1).or_overflow()?;
    let node = &mut accounts.node;
    node.pending_faults = node.pending_faults.checked_sub(1).or_overflow()?;
    pay(accounts, &shares, now)?;
    emit!(DisputeResolved {
        dispute: *accounts.dispute.address(),
        lease: accounts.dispute.lease,
        upheld: 0,
        to_provider: shares.provider,
        to_buy_back: shares.buy_back,
        upheld_weight: accounts.dispute.upheld_weight,
        rejected_weight: accounts.dispute.rejected_weight,
    });
    accounts.rewards.invariant(accounts.fee_vault.amount())?;
    accounts.credits.invariant(accounts.credits_vault.amount())
}

/// Takes the shares out of the customer's credits; what is left of the deposit is free again.
#[inline(never)]
fn pay(accounts: &mut DisputeResolve, shares: &DepositShares, now: i64) -> Result<()> {
    let lost = shares.provider.checked_add(shares.buy_back).or_overflow()?;
    let credits = &mut accounts.credits;
    credits.release(accounts.dispute.deposit.checked_sub(lost).or_overflow()?)?;
    credits.pay(lost)?;
    let customer = credits.customer;
    let bump = [credits.bump];
    let signer: [&[u8]; 3] = [seeds::CREDITS, customer.as_ref(), &bump];
    let signers: [&[&[u8]]; 1] = [&signer];
    if shares.provider > 0 {
        transfer(
            &accounts.token_program,
            accounts.credits_vault.cpi_handle_mut().into(),
            accounts.payout.cpi_handle_mut().into(),
            accounts.credits.cpi_handle(),
            shares.provider,
            &signers,
        );
    }
    if shares.buy_back > 0 {
        accounts.rewards.add_to_buy_back(shares.buy_back, now)?;
        transfer(
            &accounts.token_program,
            accounts.credits_vault.cpi_handle_mut().into(),
            accounts.fee_vault.cpi_handle_mut().into(),
            accounts.credits.cpi_handle(),
            shares.buy_back,
            &signers,
        );
    }
    Ok(())
}
