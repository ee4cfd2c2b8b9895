//! The provider takes a node out of the market for good. The node is closed later, when no report can name it any more.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::NodeRetired;
use crate::state::{Node, Provider, NODE_RETIRED};

#[derive(Accounts)]
pub struct NodeRetire {
    pub wallet: Signer,
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
    let now = Clock::get()?.unix_timestamp;
    let address = *ctx.accounts.node.address();
    let node = &mut ctx.accounts.node;
    node.status = NODE_RETIRED;
    node.retired_at = now;
    emit!(NodeRetired { node: address, at: now });
    node.invariant()
}
