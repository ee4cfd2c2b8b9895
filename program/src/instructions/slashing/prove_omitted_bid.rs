//! Slashes the keeper that awarded a sealed order without a bid whose reveal it had acknowledged in time, without a
//! vote.
//!
//! A keeper must award to the best bid that it has, and name the best of the other bids as the bar, which sets the
//! price. So a bid that scores better than the award is the winner's, or the bar, or was omitted. As with better asks,
//! only facts that did not change count: the omitted node and the bar's must have been the same from before the
//! auction's close until the award. Only orders for one node can be contested: see docs/protocol/README.md.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::{AWARD_VIEW_SECS, MODE_SEALED};
use crate::errors::{MarketError, OrOverflow};
use crate::instructions::auction::auction_award::Reveal;
use crate::instructions::slashing::unjust::{score_throughout, Asked, Unjust};
use crate::math::bid::{commitment, commitment_message, reveal_ack_message};
use crate::seeds;
use crate::signatures::{require_signed, signer_of};
use crate::slashing::*;
use crate::state::{Auction, GpuModel, Keeper, Lease, Market, Node, Order, Provider};

/// The instruction before this one verifies the keeper's signature over its acknowledgement of the reveal; the one
/// before that, the node's over its commitment.
#[derive(Accounts)]
pub struct ProveOmittedBid {
    #[account(mut)]
    pub finder: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    #[account(address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    #[account(constraint = auction.order == lease.order @ MarketError::WrongAccount)]
    pub auction: Account<Auction>,
    #[account(mut)]
    pub lease: Account<Lease>,
    /// The node whose bid was left out.
    pub omitted: Account<Node>,
    #[account(address = omitted.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == omitted.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    /// Node of the best losing bid that the keeper named; absent when it named none.
    pub bar: Option<Account<Node>>,
    #[account(mut, constraint = keeper.wallet == lease.keeper @ MarketError::WrongAccount)]
    pub keeper: Account<Keeper>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()],
        bump = keeper.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    pub payouts: Nested<Payouts>,
    pub instructions: Sysvar<SysvarInstructions>,
}

/// Whether the award can be contested at all. An order over several nodes is awarded in several transactions, between
/// which a node may become unable.
fn contestable(accounts: &ProveOmittedBid, now: i64) -> Result<()> {
    let (lease, order, auction) = (&accounts.lease, &accounts.order, &accounts.auction);
    // An auction of an earlier life of this address has another close, a lease that is not its award another time.
    let open = lease.score != 0
        && lease.continues == 0
        && order.mode == MODE_SEALED
        && order.nodes_wanted == 1
        && order.auction_close == auction.close_at
        && auction.keeper == lease.keeper
        && auction.awarded_at == lease.awarded_at
        && now <= auction.challenge_until;
    require!(open, MarketError::NotContestable);
    Ok(())
}

/// That the bar is what the keeper could see: had its node got worse since, another bid would stand before it now. Age
/// alone makes it better.
fn bar_stood(accounts: &ProveOmittedBid, since: i64) -> Result<()> {
    let (auction, awarded_at) = (&accounts.auction, accounts.lease.awarded_at);
    if auction.bar().is_none() {
        return Ok(());
    }
    let bar = accounts.bar.as_ref().ok_or(MarketError::MissingAccount)?;
    require!(*bar.address() == auction.bar_node, MarketError::WrongAccount);
    require!(bar.record_throughout(since, awarded_at).is_some(), MarketError::NotBetter);
    Ok(())
}

/// The score of the omitted bid, at its worst from before the close until the award.
fn validate(accounts: &ProveOmittedBid, bid: &Reveal, received_at: i64, now: i64) -> Result<u64> {
    contestable(accounts, now)?;
    let (lease, order, auction) = (&accounts.lease, &accounts.order, &accounts.auction);
    let omitted = &accounts.omitted;
    require!(received_at <= auction.reveal_until, MarketError::TooLate);
    let domain = &accounts.market.domain;
    let hidden =
        commitment(domain, &auction.order, omitted.address(), auction.close_at, bid.price, &bid.salt);
    let acknowledged = reveal_ack_message(&hidden, received_at);
    let signer = signer_of(&accounts.instructions, -1, &acknowledged)?;
    require!(accounts.keeper.answers_for(&signer, now), MarketError::InvalidSignature);
    require_signed(&accounts.instructions, -2, &omitted.node_key, &commitment_message(&hidden))?;
    // The winner's bid and the bar were not omitted.
    let counted = *omitted.address() == lease.node || *omitted.address() == auction.bar_node;
    require!(!counted, MarketError::NotBetter);
    let since = auction.close_at.checked_sub(AWARD_VIEW_SECS).or_overflow()?;
    bar_stood(accounts, since)?;
    let model = &accounts.gpu_model;
    let asked = Asked::by(order, since, lease.awarded_at)?;
    let site = order.site_wanted(&omitted.spec.site);
    let score = score_throughout(omitted, bid.price, model, site, &asked)?;
    // The lease's score is that of the price paid: the bar's, or the maximum's.
    require!(score < lease.score, MarketError::NotBetter);
    Ok(score)
}

pub(crate) fn handler(ctx: &mut Context<ProveOmittedBid>, bid: Reveal, received_at: i64) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let score = validate(&ctx.accounts, &bid, received_at, now)?;
    let accounts = &mut ctx.accounts;
    Unjust {
        market: &mut accounts.market,
        lease: &mut accounts.lease,
        keeper: &mut accounts.keeper,
        stake_vault: &mut accounts.stake_vault,
        payouts: &mut accounts.payouts,
        finder: accounts.finder.account(),
        better: *accounts.omitted.address(),
        better_price: bid.price,
    }
    .punish(score, now)
}
