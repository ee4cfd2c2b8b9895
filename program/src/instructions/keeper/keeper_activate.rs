//! A keeper's signer takes a place among the voters and lets the weight count, once the activation delay has passed. Nobody
//! else can: weight that nobody votes with raises the quorum for everyone.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperActivated;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_PENDING};

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
    let (market, keeper) = (&mut accounts.market, &mut accounts.keeper);
    market.seat(keeper, now)?;
    emit!(KeeperActivated {
        keeper: *keeper.address(),
        index: keeper.index,
        weight: keeper.weight,
        total_weight: market.total_weight,
    });
    keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
