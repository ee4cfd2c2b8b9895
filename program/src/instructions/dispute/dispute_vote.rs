//! A keeper votes for or against the customer of a dispute.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::DisputeVoted;
use crate::state::{Dispute, Keeper, KEEPER_ACTIVE};

#[derive(Accounts)]
pub struct DisputeVote {
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    #[account(mut)]
    pub dispute: Account<Dispute>,
}

/// Only keepers that were active before the dispute vote: a party to it cannot bond keepers of its own for it, and the
/// votes never weigh more than the total that it started with.
fn validate(accounts: &DisputeVote, uphold: u8, now: i64) -> Result<()> {
    let (keeper, dispute) = (&accounts.keeper, &accounts.dispute);
    require!(
        keeper.status == KEEPER_ACTIVE && keeper.active_since < dispute.opened_at,
        MarketError::KeeperNotActive
    );
    require!(now < dispute.closes_at, MarketError::TooLate);
    require!(uphold <= 1, MarketError::UnknownVote);
    Ok(())
}

/// `uphold` is 1 for the customer and 0 against.
pub(crate) fn handler(ctx: &mut Context<DisputeVote>, uphold: u8) -> Result<()> {
    validate(&ctx.accounts, uphold, Clock::get()?.unix_timestamp)?;
    let accounts = &mut ctx.accounts;
    let (keeper, dispute) = (&accounts.keeper, &mut accounts.dispute);
    dispute.vote(uphold == 1, keeper.index, keeper.weight)?;
    emit!(DisputeVoted { dispute: *dispute.address(), keeper: keeper.wallet, uphold, weight: keeper.weight });
    dispute.invariant()
}
