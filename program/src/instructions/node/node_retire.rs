//! The provider takes a node out of the market for good. Account and stake stay for as long as stake takes to leave, so
//! that what is found later still finds them. A node that was convicted is mended first: that ends its cause.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::NodeRetired;
use crate::state::{Market, Node, Provider, NODE_RETIRED};

#[derive(Accounts)]
pub struct NodeRetire {
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

pub(crate) fn handler(ctx: &mut Context<NodeRetire>) -> Result<()> {
    require!(ctx.accounts.node.status != NODE_RETIRED, MarketError::WrongNodeStatus);
    require!(ctx.accounts.node.live_leases == 0, MarketError::StillInUse);
    require!(!ctx.accounts.node.is_guaranteed(), MarketError::GuaranteeRunning);
    require!(ctx.accounts.node.convicted == 0, MarketError::WrongNodeStatus);
    let now = Clock::get()?.unix_timestamp;
    require!(now >= ctx.accounts.node.dead_until, MarketError::TooEarly);
    let cooldown = ctx.accounts.market.params.unstake_cooldown_secs as i64;
    let closes_at = now.checked_add(cooldown).or_overflow()?;
    let address = *ctx.accounts.node.address();
    let node = &mut ctx.accounts.node;
    node.status = NODE_RETIRED;
    node.retired_at = now;
    node.closes_at = closes_at;
    emit!(NodeRetired { node: address, at: now });
    node.invariant()
}
