//! The provider or the machine's agent accepts the terms that are in force for the node's model. Until then the
//! node is measured by the terms that it knows, and gets no new awards.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::TermsAccepted;
use crate::state::{GpuModel, Node, Provider, NODE_RETIRED};

#[derive(Accounts)]
pub struct NodeAcceptTerms {
    pub authority: Signer,
    #[account(address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
}

fn validate(accounts: &NodeAcceptTerms) -> Result<()> {
    let by_wallet = *accounts.authority.address() == accounts.provider.wallet;
    let by_agent = *accounts.authority.address() == accounts.node.node_key;
    require!(by_wallet || by_agent, MarketError::Unauthorised);
    require!(accounts.node.status != NODE_RETIRED, MarketError::WrongNodeStatus);
    // A fault by figures is appealed by the terms that it was found by.
    require!(accounts.node.pending_node_faults == 0, MarketError::FaultPending);
    // Otherwise `terms_at` would move for nothing, and with it what proofs of better asks rely on.
    require!(accounts.node.terms_at < accounts.gpu_model.since, MarketError::AlreadyApplied);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<NodeAcceptTerms>) -> Result<()> {
    validate(&ctx.accounts)?;
    let now = Clock::get()?.unix_timestamp;
    let address = *ctx.accounts.node.address();
    let accounts = &mut ctx.accounts;
    let (node, model) = (&mut accounts.node, &accounts.gpu_model);
    node.take_terms(model, now);
    emit!(TermsAccepted {
        node: address,
        min_operations: model.min_operations,
        min_bandwidth: model.min_bandwidth,
    });
    node.invariant()
}
