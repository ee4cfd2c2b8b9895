//! A keeper leaves: its place and its weight are gone at once, its bond stays until the exit time.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperExitRequested;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_EXITING, KEEPER_SLASHED};

#[derive(Accounts)]
pub struct KeeperRequestExit {
    pub wallet: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    #[account(mut, constraint = keeper.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    #[account(seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()], bump = keeper.vault_bump)]
    pub stake_vault: Account<TokenAccount>,
}

fn validate(keeper: &Keeper) -> Result<()> {
    require!(!matches!(keeper.status, KEEPER_EXITING | KEEPER_SLASHED), MarketError::WrongKeeperStatus);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<KeeperRequestExit>) -> Result<()> {
    let accounts = &mut ctx.accounts;
    validate(&accounts.keeper)?;
    let now = Clock::get()?.unix_timestamp;
    let wait = accounts.market.params.keeper_exit_secs as i64;
    let exit_at = now.checked_add(wait).or_overflow()?;
    let keeper = &mut accounts.keeper;
    accounts.market.unseat(keeper, KEEPER_EXITING, now)?;
    keeper.exit_at = exit_at;
    emit!(KeeperExitRequested { keeper: *keeper.address(), exit_at });
    keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
