//! Anyone applies a fault whose appeal window has passed: the customer first, then the finder, the rest is burned.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::SlashApplied;
use crate::math::slashing::split;
use crate::seeds;
use crate::state::{Fault, Lease, Market, Node, Provider};
use crate::token::{burn, require_token_account, transfer};

#[derive(Accounts)]
pub struct SlashApply {
    pub market: Account<Market>,
    #[account(mut, address = fault.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    #[account(mut, address = fault.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    /// The lease that the fault names, if it names one.
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    #[account(mut, close = rent_payer)]
    pub fault: Account<Fault>,
    #[account(mut, address = fault.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    /// A stake-token account of the harmed customer, if there is one.
    #[account(mut)]
    pub customer_tokens: Option<Account<TokenAccount>>,
    /// A stake-token account of the finder.
    #[account(mut)]
    pub finder_tokens: Account<TokenAccount>,
    pub token_program: Program<Token>,
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

pub fn handler(ctx: &mut Context<SlashApply>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    if Clock::get()?.unix_timestamp < accounts.fault.applicable_at {
        return fail(MarketError::AppealWindowOpen);
    }
    let mint = *accounts.stake_mint.address();
    let fault = &accounts.fault;
    require_token_account(&accounts.finder_tokens, &mint, &fault.finder)?;
    settle_fault(fault, &mut accounts.provider, &mut accounts.node, accounts.lease.as_mut())?;

    // Stake first, then what is being unstaked: both are slashable until they are withdrawn.
    let provider = &mut accounts.provider;
    let amount = fault.amount.min(provider.held()?);
    let from_stake = amount.min(provider.stake);
    provider.stake = provider.stake.checked_sub(from_stake).or_overflow()?;
    let from_unstaking = amount.checked_sub(from_stake).or_overflow()?;
    provider.unstaking = provider.unstaking.checked_sub(from_unstaking).or_overflow()?;
    provider.slashed_total = provider.slashed_total.checked_add(amount).or_overflow()?;
    let shares = split(amount, fault.harm, fault.finder_bps)?;

    let wallet = provider.wallet;
    let bump = [provider.bump];
    let signer: [&[u8]; 3] = [seeds::PROVIDER, wallet.as_ref(), &bump];
    let signers: [&[&[u8]]; 1] = [&signer];
    if shares.customer > 0 {
        let tokens = match accounts.customer_tokens.as_mut() {
            Some(tokens) => tokens,
            None => return fail(MarketError::MissingAccount),
        };
        require_token_account(tokens, &mint, &fault.customer)?;
        transfer(
            &accounts.token_program,
            accounts.stake_vault.cpi_handle_mut().into(),
            tokens.cpi_handle_mut().into(),
            accounts.provider.cpi_handle(),
            shares.customer,
            &signers,
        );
    }
    if shares.finder > 0 {
        transfer(
            &accounts.token_program,
            accounts.stake_vault.cpi_handle_mut().into(),
            accounts.finder_tokens.cpi_handle_mut().into(),
            accounts.provider.cpi_handle(),
            shares.finder,
            &signers,
        );
    }
    if shares.burned > 0 {
        burn(
            &accounts.token_program,
            accounts.stake_vault.cpi_handle_mut().into(),
            accounts.stake_mint.cpi_handle_mut().into(),
            accounts.provider.cpi_handle(),
            shares.burned,
            &signers,
        );
    }
    emit!(SlashApplied {
        fault: *accounts.fault.address(),
        provider: *accounts.provider.address(),
        amount,
        customer: shares.customer,
        finder: shares.finder,
        burned: shares.burned,
    });
    accounts.provider.invariant(accounts.stake_vault.amount())
}
