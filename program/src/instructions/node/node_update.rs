//! The provider or the machine's agent sets the ask, the spot ask, the status, how jobs are isolated and the CUDA of the driver. With
//! the status active the node's stake is topped up from stake that no node has.

use anchor_lang::prelude::*;

use crate::constants::{BPS, MAX_ISOLATION};
use crate::errors::MarketError;
use crate::events::{NodeStaked, NodeUpdated};
use crate::state::{
    Node, Provider, NODE_ACTIVE, NODE_DRAINING, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED,
};

#[derive(Accounts)]
pub struct NodeUpdate {
    pub authority: Signer,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: Account<Node>,
}

/// `status` is active, hibernated or draining. Only the provider's wallet brings a suspended node back.
fn validate(accounts: &NodeUpdate, price: u64, status: u8, isolation: u8, cuda: u16, now: i64) -> Result<()> {
    let by_wallet = *accounts.authority.address() == accounts.provider.wallet;
    let by_agent = *accounts.authority.address() == accounts.node.node_key;
    require!(by_wallet || by_agent, MarketError::Unauthorised);
    require!(price > 0, MarketError::ZeroPrice);
    require!(isolation <= MAX_ISOLATION, MarketError::InvalidSpec);
    require!(
        accounts.node.status != NODE_RETIRED
            && matches!(status, NODE_ACTIVE | NODE_HIBERNATED | NODE_DRAINING),
        MarketError::WrongNodeStatus
    );
    if accounts.node.status == NODE_SUSPENDED {
        // What is found wrong with a single lease, or disputed of it, keeps no mended machine away.
        require!(accounts.node.pending_node_faults == 0, MarketError::FaultPending);
        require!(by_wallet, MarketError::Unauthorised);
        // Else leases from before would be paid again for what the conviction took from them.
        require!(accounts.node.convicted_from == 0 || accounts.node.all_cut(), MarketError::StillInUse);
    }
    // An award is judged by what the node offered all the time since the order came: another isolation or
    // CUDA is another node's.
    let spec = &accounts.node.spec;
    let same = (isolation, cuda) == (spec.isolation, spec.cuda) || accounts.node.status != NODE_ACTIVE;
    require!(same, MarketError::WrongNodeStatus);
    // A GPU that died does not work again so soon.
    require!(status != NODE_ACTIVE || now >= accounts.node.dead_until, MarketError::TooEarly);
    require!(status == NODE_ACTIVE || now >= accounts.node.guaranteed_until, MarketError::GuaranteeRunning);
    Ok(())
}

pub(crate) fn handler(
    ctx: &mut Context<NodeUpdate>,
    price: u64,
    status: u8,
    isolation: u8,
    cuda: u16,
    spot_bps: u16,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, price, status, isolation, cuda, now)?;
    require!((spot_bps as u64) <= BPS, MarketError::SpotPriceOutOfRange);
    let address = *ctx.accounts.node.address();
    let node = &mut ctx.accounts.node;
    node.spec.isolation = isolation;
    node.spec.cuda = cuda;
    if (node.price, node.spot_bps) != (price, spot_bps) {
        (node.price, node.spot_bps) = (price, spot_bps);
        node.ask_since = now;
    }
    node.set_status(status, now)?;
    if status == NODE_ACTIVE {
        node.dead_until = 0;
    }
    if status == NODE_ACTIVE {
        let by_wallet = *ctx.accounts.authority.address() == ctx.accounts.provider.wallet;
        level_stake(node, &mut ctx.accounts.provider, by_wallet, now)?;
    }
    emit!(NodeUpdated { node: address, price, status, isolation, cuda, spot_bps });
    node.invariant()
}

/// The wallet learns that the stake is too little; the agent, which cannot add any, goes on without.
fn level_stake(
    node: &mut Account<Node>,
    provider: &mut Account<Provider>,
    by_wallet: bool,
    now: i64,
) -> Result<()> {
    let before = node.stake;
    let enough = node.level_stake(provider, now)?;
    require!(enough || !by_wallet, MarketError::InsufficientStake);
    if node.stake != before {
        emit!(NodeStaked { node: *node.address(), provider: node.provider, stake: node.stake });
    }
    Ok(())
}
