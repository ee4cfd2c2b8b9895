//! A keeper awards a sealed order to the node of a winning bid, at the price that the best losing bid sets.
//!
//! A bid is proven by the commitment that its node signed before the close, and by the price and the salt that it
//! hides. The first award of an order fixes the best losing bid and the root of the bid set; the same keeper makes the
//! other awards. Once half of the time to award is over, any other keeper may make those that are missing, by the same
//! root: then the first one has no share of the order's fees. It names the best losing bid anew, and
//! the worse of the two stands: else a first keeper could name a bid that should have won, and nobody could win behind it.

use anchor_lang::prelude::*;

use crate::constants::MODE_SEALED;
use crate::errors::{MarketError, OrOverflow};
use crate::events::AuctionAwarded;
use crate::instructions::order::award::{require_suitable, Offer, Parties};
use crate::instructions::order::order_award::award;
use crate::math::bid::{commitment, commitment_message, price_of, Standing};
use crate::math::score::score;
use crate::seeds;
use crate::signatures::require_signed;
use crate::state::{
    Auction, Credits, GpuModel, Keeper, Lease, Market, Node, Order, Provider, NODE_ACTIVE, ORDER_OPEN,
};

/// What a commitment hides.
#[derive(Clone, Copy, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct Reveal {
    /// µUSDC per GPU-hour.
    pub price: u64,
    pub salt: [u8; 32],
}

/// The instruction before this one verifies the winner's signature over its commitment; the one before that, where a
/// losing bid is named, the loser's.
#[derive(Accounts)]
pub struct AuctionAward {
    /// Pays the lease's rent and gets it back at its close.
    #[account(mut)]
    pub signer: Signer,
    #[account(constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    pub market: Account<Market>,
    #[account(mut)]
    pub order: Account<Order>,
    #[account(mut, constraint = auction.order == *order.address() @ MarketError::WrongAccount)]
    pub auction: Account<Auction>,
    #[account(mut, constraint = credits.customer == order.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(constraint = gpu_model.id == node.spec.model @ MarketError::WrongAccount)]
    pub gpu_model: Account<GpuModel>,
    /// Node of the best losing bid; absent when every bid won, and in further awards of the keeper of the first one.
    pub loser: Option<Account<Node>>,
    /// Its model; absent when it is the winner's.
    pub loser_model: Option<Account<GpuModel>>,
    #[account(
        init,
        payer = signer,
        seeds = [seeds::LEASE, order.address().as_ref(), node.address().as_ref()],
        bump
    )]
    pub lease: Account<Lease>,
    pub instructions: Sysvar<SysvarInstructions>,
    pub system_program: Program<System>,
}

/// Returns the latest end of a lease of the order, and the node's reputation.
fn validate(accounts: &AuctionAward, now: i64) -> Result<(i64, u16)> {
    let (order, auction) = (&accounts.order, &accounts.auction);
    require!(order.status == ORDER_OPEN, MarketError::WrongOrderStatus);
    // An auction of an earlier life of this address has another close.
    require!(
        order.mode == MODE_SEALED && order.auction_close == auction.close_at,
        MarketError::WrongOrderMode
    );
    require!(now > auction.reveal_until, MarketError::TooEarly);
    require!(now <= order.award_deadline, MarketError::TooLate);
    let end = order.latest_end()?;
    let node = &accounts.node;
    let (market, keeper, model) = (&accounts.market, &accounts.keeper, &accounts.gpu_model);
    let reputation_bps = require_suitable(market, keeper, order, node, model, now, end)?;
    Ok((end, reputation_bps))
}

/// The standing of a node's bid, which it signed, `offset` instructions from here.
#[inline(never)]
fn standing(
    accounts: &AuctionAward,
    node: &Account<Node>,
    bid: &Reveal,
    offset: i64,
    end: i64,
    reputation_bps: u16,
) -> Result<Standing> {
    require!(bid.price > 0, MarketError::ZeroPrice);
    require!(bid.price <= accounts.order.max_price, MarketError::PriceTooHigh);
    let (order, close_at) = (&accounts.auction.order, accounts.auction.close_at);
    let hidden = commitment(&accounts.market.domain, order, node.address(), close_at, bid.price, &bid.salt);
    require_signed(&accounts.instructions, offset, &node.node_key, &commitment_message(&hidden))?;
    let score = score(bid.price, reputation_bps, node.guarantee().bps_until(end))?;
    Ok(Standing { score, reputation_bps, node: *node.address() })
}

/// The best losing bid: of another node that would have suited the order as well.
#[inline(never)]
fn best_loser(accounts: &AuctionAward, bid: &Reveal, now: i64, end: i64) -> Result<Option<Standing>> {
    let node = match accounts.loser.as_ref() {
        Some(node) => node,
        None => return Ok(None),
    };
    require!(node.address() != accounts.node.address(), MarketError::WrongAccount);
    let model = accounts.loser_model.as_ref().unwrap_or(&accounts.gpu_model);
    require!(model.id == node.spec.model, MarketError::WrongAccount);
    require!(node.status == NODE_ACTIVE, MarketError::WrongNodeStatus);
    let order = &accounts.order;
    require!(node.healthy_for(order.asked_at(), now), MarketError::NodeUnhealthy);
    let site = &node.spec.site;
    let record = node.record(now);
    let reputation_bps =
        order.requirement.satisfied_by(node, model, order.gpus_per_node, site, &record, now, end)?;
    standing(accounts, node, bid, -2, end, reputation_bps).map(Some)
}

pub(crate) fn handler(
    ctx: &mut Context<AuctionAward>,
    bid: Reveal,
    losing_bid: Reveal,
    bids_root: [u8; 32],
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let (end, reputation_bps) = validate(&ctx.accounts, now)?;
    let winner = standing(&ctx.accounts, &ctx.accounts.node, &bid, -1, end, reputation_bps)?;
    let (keeper, payer) = (ctx.accounts.keeper.wallet, *ctx.accounts.signer.address());
    let (first, own) = (ctx.accounts.auction.winner_count == 0, ctx.accounts.auction.keeper == keeper);
    if first || !own {
        let bar = best_loser(&ctx.accounts, &losing_bid, now, end)?;
        ctx.accounts.auction.name_bar(bar);
    }
    if first {
        let challenge = ctx.accounts.market.params.challenge_secs as i64;
        let auction = &mut ctx.accounts.auction;
        auction.keeper = keeper;
        auction.bids_root = bids_root;
        auction.awarded_at = now;
        auction.challenge_until = now.checked_add(challenge).or_overflow()?;
    } else {
        let (auction, order) = (&ctx.accounts.auction, &mut ctx.accounts.order);
        require!(auction.bids_root == bids_root, MarketError::OtherBids);
        if !own {
            require!(now > auction.completable_after(order.award_deadline), MarketError::Unauthorised);
            order.stopped = 1;
        }
    }
    let bump = ctx.bumps.lease;
    let accounts = &mut ctx.accounts;
    accounts.auction.admit(&winner)?;
    let most = accounts.order.max_price;
    let price = match accounts.auction.bar() {
        Some(bar) => {
            let guarantee = accounts.node.guarantee().bps_until(end);
            price_of(bar.score, winner.reputation_bps, guarantee)?.min(most)
        }
        // Nobody lost: the order's own maximum is the next best offer.
        None => most,
    };
    require!(price >= bid.price, MarketError::InvariantBroken);
    let parties = Parties {
        market: &accounts.market,
        keeper: &keeper,
        payer: &payer,
        order: &mut accounts.order,
        node: &mut accounts.node,
        provider: &mut accounts.provider,
    };
    award(
        &mut accounts.lease,
        parties,
        &mut accounts.credits,
        &Offer { price, end, reputation_bps },
        now,
        bump,
    )?;
    let auction = &accounts.auction;
    accounts.lease.of_first_keeper = u8::from(auction.keeper == keeper);
    emit!(AuctionAwarded {
        order: auction.order,
        node: winner.node,
        keeper,
        bid: bid.price,
        price,
        score: winner.score,
        bar_node: auction.bar_node,
        bar_score: auction.bar_score,
        bids_root: auction.bids_root,
    });
    auction.invariant()
}
