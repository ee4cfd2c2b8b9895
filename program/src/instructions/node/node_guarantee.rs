//! A provider guarantees a node's uptime until a date. The node has a better score until then, and the provider loses a
//! part of the required stake if the uptime is lower. A running guarantee may only grow: a later end, or a higher
//! uptime.

use anchor_lang::prelude::*;

use crate::constants::{BPS, GUARANTEE_BPS_MIN};
use crate::errors::{MarketError, OrOverflow};
use crate::events::UptimeGuaranteed;
use crate::math::periods::{period_end, period_of};
use crate::state::{Market, Node, Provider, NODE_ACTIVE};

#[derive(Accounts)]
pub struct NodeGuarantee {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(
        address = node.provider @ MarketError::WrongAccount,
        constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised
    )]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: Account<Node>,
}

/// Returns the first second of the guarantee: the start of the next period for a new one.
fn validate(accounts: &NodeGuarantee, until: i64, guarantee_bps: u16, now: i64) -> Result<i64> {
    let (node, params) = (&accounts.node, &accounts.market.params);
    require!(node.status == NODE_ACTIVE, MarketError::WrongNodeStatus);
    require!(node.covered(), MarketError::InsufficientStake);
    require!(!node.is_guaranteed() || now < node.guaranteed_until, MarketError::GuaranteeOver);
    let since = if node.is_guaranteed() {
        node.guaranteed_since
    } else {
        period_end(period_of(now, params.period_secs)?, params.period_secs)?
    };
    // It lasts at least as long as stake takes to leave, and contains one period that can be counted.
    let soonest = now
        .checked_add(params.unstake_cooldown_secs as i64)
        .or_overflow()?
        .max(since.checked_add(params.period_secs as i64).or_overflow()?);
    let longest = node.longest_guarantee(node.reference_price, params.stake_price)?;
    let latest = since.checked_add(longest).or_overflow()?;
    let grows = until >= node.guaranteed_until
        && guarantee_bps >= node.guarantee_bps
        && (until, guarantee_bps) != (node.guaranteed_until, node.guarantee_bps);
    let sound = until >= soonest
        && until <= latest
        && guarantee_bps >= GUARANTEE_BPS_MIN
        && (guarantee_bps as u64) <= BPS
        && grows;
    require!(sound, MarketError::InvalidGuarantee);
    Ok(since)
}

pub(crate) fn handler(ctx: &mut Context<NodeGuarantee>, until: i64, guarantee_bps: u16) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let since = validate(&ctx.accounts, until, guarantee_bps, now)?;
    let accounts = &mut ctx.accounts;
    let (node, params) = (&mut accounts.node, &accounts.market.params);
    let record = node.record(now);
    if !node.is_guaranteed() {
        node.guarantee_open = node.open_leases;
    }
    node.guaranteed_since = since;
    node.guaranteed_until = until;
    node.guarantee_bps = guarantee_bps;
    node.slash_guarantee_bps = params.slash_guarantee_bps;
    node.guarantee_stake_price = params.stake_price;
    node.guarantee_settle_secs = params.settle_deadline_secs()?;
    node.guarantee_appeal_secs = params.appeal_secs;
    node.guarantee_payout_secs = params.unstake_cooldown_secs;
    node.keep_record(&record, now);
    emit!(UptimeGuaranteed { node: *node.address(), since, until, guarantee_bps });
    node.invariant()
}
