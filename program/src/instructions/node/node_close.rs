//! Closes a retired node and its device claims, and frees its stake.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::NodeClosed;
use crate::records;
use crate::state::{DeviceClaim, Node, Provider, NODE_RETIRED};

/// The remaining accounts are all device claims that the node holds, then every other wallet that paid the rent of one.
#[derive(Accounts)]
pub struct NodeClose {
    #[account(mut)]
    pub wallet: Signer,
    #[account(
        mut,
        address = node.provider @ MarketError::WrongAccount,
        constraint = provider.wallet == *wallet.address() @ MarketError::Unauthorised
    )]
    pub provider: Account<Provider>,
    #[account(mut, close = wallet)]
    pub node: Account<Node>,
}

fn validate(accounts: &NodeClose, now: i64) -> Result<()> {
    let node = &accounts.node;
    require!(node.status == NODE_RETIRED, MarketError::WrongNodeStatus);
    require!(node.pending_faults == 0, MarketError::FaultPending);
    require!(now >= node.closes_at, MarketError::TooEarly);
    require!(node.open_leases == 0, MarketError::StillInUse);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<NodeClose>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let views = ctx.remaining_accounts()?;
    let node = &ctx.accounts.node;
    let held = node.spec.gpus.checked_sub(node.claims_missing).or_overflow()? as usize;
    let (claims, payers) = views.split_at_checked(held).ok_or(MarketError::DeviceCountMismatch)?;
    let address = *ctx.accounts.node.address();
    for view in claims {
        close_claim(*view, &address, ctx.accounts.wallet.account(), payers)?;
    }
    let stake = ctx.accounts.node.stake;
    let provider = &mut ctx.accounts.provider;
    provider.locked_stake = provider.locked_stake.checked_sub(stake).or_overflow()?;
    provider.node_count = provider.node_count.checked_sub(1).or_overflow()?;
    emit!(NodeClosed { node: address });
    Ok(())
}

/// Closes a claim of `node`; its rent goes to who paid it. One passed twice is closed already when it comes again, and
/// is refused.
fn close_claim(
    mut view: AccountView,
    node: &Address,
    wallet: &AccountView,
    payers: &[AccountView],
) -> Result<()> {
    let claim: DeviceClaim = records::read(&view)?;
    require!(claim.node == *node && claim.key == 0, MarketError::WrongAccount);
    let mut everyone = core::iter::once(wallet).chain(payers);
    let payer = everyone.find(|payer| *payer.address() == claim.rent_payer);
    let mut destination = *payer.ok_or(MarketError::MissingAccount)?;
    let lamports = destination.lamports().checked_add(view.lamports()).or_overflow()?;
    destination.set_lamports(lamports);
    view.set_lamports(0);
    view.close()
}
