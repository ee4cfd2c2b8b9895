//! A keeper votes that a node with leases has not answered it since some second. Votes count for half a minute; with the
//! keepers' quorum the node was away, and its leases may leave it for a minute: see lease_outage.

use anchor_lang::prelude::*;

use crate::constants::{OUTAGE_MAX_SECS, OUTAGE_SECS};
use crate::errors::{MarketError, OrOverflow};
use crate::events::{OutageSeen, OutageVoted};
use crate::seeds;
use crate::state::{Keeper, Market, Node, Outage, KEEPER_ACTIVE};

#[derive(Accounts)]
pub struct OutageVote {
    #[account(mut)]
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(mut)]
    pub node: Account<Node>,
    /// The first vote creates it, and its sender gets the rent back.
    #[account(init_if_needed, payer = signer, seeds = [seeds::OUTAGE, node.address().as_ref()], bump)]
    pub outage: Account<Outage>,
    pub system_program: Program<System>,
}

/// The keeper has a say, the node has something to lose, and its silence is long enough and of these days.
fn validate(accounts: &OutageVote, last_answer: i64, now: i64) -> Result<()> {
    require!(accounts.keeper.status == KEEPER_ACTIVE, MarketError::KeeperNotActive);
    let node = &accounts.node;
    require!(node.live_leases > 0, MarketError::WrongNodeStatus);
    require!(last_answer <= now.checked_sub(OUTAGE_SECS).or_overflow()?, MarketError::TooEarly);
    let earliest = now.checked_sub(OUTAGE_MAX_SECS).or_overflow()?.max(node.registered_at);
    require!(last_answer >= earliest, MarketError::TooLate);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<OutageVote>, last_answer: i64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, last_answer, now)?;
    let bump = ctx.bumps.outage;
    let accounts = &mut ctx.accounts;
    let (address, payer) = (*accounts.node.address(), *accounts.signer.address());
    let (keeper, outage) = (&accounts.keeper, &mut accounts.outage);
    if outage.over(now)? {
        outage.begin(address, payer, bump, now);
    }
    let params = &accounts.market.params;
    let seen = outage.vote(keeper, last_answer, accounts.market.total_weight, params.quorum_bps, now)?;
    emit!(OutageVoted { node: address, keeper: keeper.wallet, last_answer, weight: keeper.weight });
    if seen {
        let (last_answer, weight, total_weight) = (outage.last_answer, outage.weight, outage.total_weight);
        accounts.node.note_away(last_answer, params.period_secs, now)?;
        emit!(OutageSeen { node: address, last_answer, weight, total_weight });
    }
    accounts.node.invariant()?;
    accounts.outage.invariant()
}
