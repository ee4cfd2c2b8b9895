//! A keeper's signer lets its weight count once its activation delay has passed. Nobody else can: weight that nobody
//! votes with raises the quorum for everyone.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperActivated;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_ACTIVE, KEEPER_PENDING};

#[derive(Accounts)]
pub struct KeeperActivate {
    pub signer: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    #[account(mut, constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    #[account(seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()], bump = keeper.vault_bump)]
    pub stake_vault: Account<TokenAccount>,
}

fn validate(accounts: &KeeperActivate, now: i64) -> Result<()> {
    let keeper = &accounts.keeper;
    require!(keeper.status == KEEPER_PENDING, MarketError::WrongKeeperStatus);
    let delay = accounts.market.params.keeper_activation_secs as i64;
    require!(now >= keeper.pending_since.checked_add(delay).or_overflow()?, MarketError::TooEarly);
    // A slash may have taken of the bond since: see `lighten`.
    require!(keeper.bond >= accounts.market.params.min_bond, MarketError::BondTooSmall);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<KeeperActivate>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let weight = accounts.keeper.bond.min(accounts.market.params.weight_cap);
    let total_weight = accounts.market.total_weight.checked_add(weight).or_overflow()?;
    accounts.market.total_weight = total_weight;
    let (address, final_reports) = (*accounts.keeper.address(), accounts.market.final_reports);
    let keeper = &mut accounts.keeper;
    keeper.weigh(weight, now);
    keeper.active_since = now;
    keeper.takes_part(final_reports, now);
    keeper.status = KEEPER_ACTIVE;
    emit!(KeeperActivated { keeper: address, weight, total_weight });
    keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
