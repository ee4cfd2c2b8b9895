//! A provider commits a machine to the market until a date, with a promised uptime: a better score until then, and a part
//! of its required stake if it breaks its word. A running commitment may grow: later, or a higher promise.

use anchor_lang::prelude::*;

use crate::constants::{BPS, MAX_COMMITMENT_SECS, PROMISE_BPS_MIN};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::NodeCommitted;
use crate::math::periods::{period_end, period_of};
use crate::planted::planted;
use crate::state::{Market, NodeAccount, Provider, NODE_ACTIVE};

#[derive(Accounts)]
pub struct NodeCommit {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(
        address = node.provider @ MarketError::WrongAccount,
        constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised
    )]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: NodeAccount,
}

/// The first second of the commitment: the next period's for a new one.
fn validate(accounts: &NodeCommit, until: i64, promise_bps: u16, now: i64) -> Result<i64> {
    let (node, params) = (&accounts.node, &accounts.market.params);
    if node.status != NODE_ACTIVE {
        return fail(MarketError::WrongNodeStatus);
    }
    if !accounts.provider.covered() {
        return fail(MarketError::InsufficientStake);
    }
    if node.is_committed() && now >= node.committed_until {
        return fail(MarketError::CommitmentOver);
    }
    let since = if node.is_committed() {
        node.committed_since
    } else {
        period_end(period_of(now, params.period_secs)?, params.period_secs)?
    };
    // At least as long as stake takes to leave, and one period that can be counted.
    let soonest = now
        .checked_add(params.unstake_cooldown_secs as i64)
        .or_overflow()?
        .max(since.checked_add(params.period_secs as i64).or_overflow()?);
    let latest = since.checked_add(MAX_COMMITMENT_SECS).or_overflow()?;
    let grows = until >= node.committed_until
        && promise_bps >= node.promise_bps
        && (until, promise_bps) != (node.committed_until, node.promise_bps);
    let sound = until >= soonest
        && until <= latest
        && promise_bps >= PROMISE_BPS_MIN
        && (promise_bps as u64) <= BPS
        && planted!(67, true, grows);
    if sound {
        Ok(since)
    } else {
        fail(MarketError::InvalidPromise)
    }
}

pub fn handler(ctx: &mut Context<NodeCommit>, until: i64, promise_bps: u16) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let since = validate(&ctx.accounts, until, promise_bps, now)?;
    let slash_bps = ctx.accounts.market.params.slash_commitment_bps;
    let node = &mut ctx.accounts.node;
    let record = node.record(now);
    node.committed_since = since;
    node.committed_until = until;
    node.promise_bps = promise_bps;
    node.slash_commitment_bps = slash_bps;
    node.keep_record(&record, now);
    emit!(NodeCommitted { node: *node.address(), since, until, promise_bps });
    node.invariant()
}
