//! A keeper whose exit time has come takes its bond, or what is left of it, and its rent.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperWithdrawn;
use crate::seeds;
use crate::state::{Keeper, Market, Rewards, KEEPER_EXITING, KEEPER_SLASHED};
use crate::token;

#[derive(Accounts)]
pub struct KeeperWithdraw {
    #[account(mut)]
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    #[account(address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    #[account(
        mut,
        close = wallet,
        constraint = keeper.wallet == *wallet.address() @ MarketError::Unauthorised
    )]
    pub keeper: Account<Keeper>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()],
        bump = keeper.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    /// A token account of the wallet.
    #[account(mut)]
    pub to: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &KeeperWithdraw, now: i64) -> Result<()> {
    require!(
        matches!(accounts.keeper.status, KEEPER_EXITING | KEEPER_SLASHED),
        MarketError::WrongKeeperStatus
    );
    require!(now >= accounts.keeper.exit_at, MarketError::TooEarly);
    // Anyone may send the claim first, unless the issuer of the payment token has frozen the vault.
    require!(accounts.keeper.earned == 0 || accounts.fee_vault.is_frozen(), MarketError::RewardsUnclaimed);
    token::require_token_account(&accounts.to, &accounts.market.stake_mint, accounts.wallet.address())
}

pub(crate) fn handler(ctx: &mut Context<KeeperWithdraw>) -> Result<()> {
    validate(&ctx.accounts, Clock::get()?.unix_timestamp)?;
    let accounts = &mut ctx.accounts;
    accounts.keeper.invariant(accounts.stake_vault.amount())?;
    let wallet = *accounts.wallet.address();
    let bump = [accounts.keeper.bump];
    let signer: &[&[&[u8]]] = &[&[seeds::KEEPER, wallet.as_ref(), &bump]];
    let amount = accounts.stake_vault.amount();
    if amount > 0 {
        token::transfer(
            &accounts.token_program,
            accounts.stake_vault.cpi_handle_mut().into(),
            accounts.to.cpi_handle_mut().into(),
            accounts.keeper.cpi_handle(),
            amount,
            signer,
        );
    }
    token::close(
        &accounts.token_program,
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.wallet.cpi_handle_mut().into(),
        accounts.keeper.cpi_handle(),
        signer,
    );
    // What it earned and cannot be paid goes to the others.
    let (earned, rewards) = (accounts.keeper.earned, &mut accounts.rewards);
    rewards.earned = rewards.earned.checked_sub(earned).or_overflow()?;
    rewards.pending = rewards.pending.checked_add(earned).or_overflow()?;
    emit!(KeeperWithdrawn { keeper: *accounts.keeper.address(), amount });
    accounts.rewards.invariant(accounts.fee_vault.amount())
}
