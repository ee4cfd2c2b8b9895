//! Shared by every instruction that awards: the checks, and the lease that an award creates.

use anchor_lang::prelude::*;

use crate::constants::{SPOT_NOTICE_SECS, VERSION, WITHHELD_FACTOR};
use crate::errors::{MarketError, OrOverflow};
use crate::math::pricing::cost;
use crate::math::score::score;
use crate::math::slashing::harm_in_stake;
use crate::math::window::CLOSED;
use crate::state::{
    GpuModel, Keeper, Lease, Market, Node, Order, Provider, KEEPER_ACTIVE, LEASE_AWARDED, NODE_ACTIVE,
    ORDER_OPEN, OUTPUT_NONE, OUTPUT_WANTED,
};

/// What the node asks of the order, at most `max_price`.
pub fn ask_within(node: &Node, order: &Order, max_price: u64) -> Result<u64> {
    let ask = node.ask(order)?;
    require!(ask > 0, MarketError::NoSpotPrice);
    require!(ask <= max_price, MarketError::PriceTooHigh);
    Ok(ask)
}

/// Awards are open, the keeper may make them, and the node may take this work, which ends at `end` at the latest, now.
/// Its price is checked elsewhere. Returns the node's reputation.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub fn require_suitable(
    market: &Market,
    keeper: &Keeper,
    order: &Order,
    node: &Account<Node>,
    model: &GpuModel,
    now: i64,
    end: i64,
) -> Result<u16> {
    market.awards_open()?;
    require!(keeper.status == KEEPER_ACTIVE, MarketError::KeeperNotActive);
    require!(node.status == NODE_ACTIVE, MarketError::WrongNodeStatus);
    // Work that moves was not ordered from this node: what is known of it by now counts.
    let asked_at = if order.status == ORDER_OPEN { order.asked_at() } else { now };
    require!(!order.was_unserved_by(node.address()), MarketError::NodeDeclined);
    // The bits of its nodes follow from its address: whoever knows that could make keys until own nodes hide others.
    // Nodes of a redundant order are drawn.
    let known = order.status == ORDER_OPEN && order.nodes_wanted > 1 && order.redundant == 0;
    require!(!known || node.registered_at < order.created_at, MarketError::NodeTooNew);
    require!(node.healthy_for(asked_at, now), MarketError::NodeUnhealthy);
    require!(node.covered(), MarketError::InsufficientStake);
    let site = if order.nodes_awarded == 0 { &node.spec.site } else { &order.site };
    order.requirement.satisfied_by(node, model, order.gpus_per_node, site, &node.record(now), now, end)
}

/// What a node that suits an order offers.
pub struct Offer {
    /// µUSDC per GPU-hour, within the order's maximum.
    pub price: u64,
    /// The latest end of its lease, short of extensions.
    pub end: i64,
    /// Its reputation now.
    pub reputation_bps: u16,
}

/// What is agreed for one node.
pub struct Terms<'a> {
    pub offer: &'a Offer,
    /// µUSDC that Credits holds for it.
    pub reserved: u64,
    pub duration_secs: u32,
    /// 1 when it goes on where a failed lease stopped.
    pub continues: u8,
    /// When that one had failed, else 0.
    pub failed_at: i64,
    pub checkpoint_hash: [u8; 32],
}

/// Everyone in a new lease.
pub struct Parties<'a> {
    pub market: &'a Market,
    /// The keeper's wallet.
    pub keeper: &'a Address,
    /// Pays the lease's rent.
    pub payer: &'a Address,
    pub order: &'a mut Account<Order>,
    pub node: &'a mut Account<Node>,
    pub provider: &'a mut Account<Provider>,
}

/// Takes the GPUs and writes the lease, with the score that its node has now; counts it everywhere but in the customer's
/// credits.
#[inline(never)]
pub fn write_lease(
    lease: &mut Account<Lease>,
    Parties { market, keeper, payer, order, node, provider }: Parties,
    terms: &Terms<'_>,
    now: i64,
    bump: u8,
) -> Result<()> {
    let &Offer { price, end, reputation_bps } = terms.offer;
    let guarantee_bps = node.guarantee().bps_until(end);
    lease.score = score(price, reputation_bps, guarantee_bps)?;
    (lease.award_price, lease.award_score) = (price, lease.score);
    let order_address = *order.address();
    order.note_award(&order_address, node.address());
    let gpu_mask = node.take_gpus(order.gpus_per_node, now)?;
    order.live_leases = order.live_leases.checked_add(1).or_overflow()?;
    provider.live_leases = provider.live_leases.checked_add(1).or_overflow()?;
    node.note_lease(now)?;
    let params = &market.params;
    lease.last_fault = node.convictions;
    lease.fault_window = CLOSED;
    lease.order = order_address;
    lease.node = *node.address();
    lease.provider = *provider.address();
    lease.customer = order.customer;
    lease.keeper = *keeper;
    lease.rent_payer = *payer;
    lease.checkpoint_hash = terms.checkpoint_hash;
    lease.node_key = node.node_key;
    lease.domain = market.domain;
    lease.price = price;
    lease.reserved = terms.reserved;
    lease.awarded_at = now;
    lease.challenge_until = now.checked_add(params.challenge_secs as i64).or_overflow()?;
    lease.duration_secs = terms.duration_secs;
    lease.interruptible = order.interruptible;
    let spot = if order.interruptible == 1 { SPOT_NOTICE_SECS } else { u32::MAX };
    lease.notice_secs = params.notice_secs.min(spot);
    lease.settle_secs = params.settle_deadline_secs()?;
    lease.rating_secs = params.rating_secs;
    lease.grace_secs = params.migration_grace_secs;
    lease.fee_bps = params.fee_bps;
    lease.award_bps = params.award_bps;
    lease.slash_offline_bps = params.slash_offline_bps;
    lease.slash_bad_work_bps = params.slash_bad_work_bps;
    lease.gpu_mask = gpu_mask;
    lease.gpus = order.gpus_per_node;
    lease.status = LEASE_AWARDED;
    lease.run_to_completion = order.run_to_completion;
    if order.redundant == 1 {
        lease.output = OUTPUT_WANTED;
        let worth = cost(price, order.gpus_per_node, terms.duration_secs)?;
        let worth = worth.checked_mul(WITHHELD_FACTOR).or_overflow()?;
        lease.forfeit = harm_in_stake(worth, params.stake_price)?;
    } else {
        lease.output = OUTPUT_NONE;
    }
    lease.continues = terms.continues;
    lease.failed_at = terms.failed_at;
    lease.may_migrate = 1u8.saturating_sub(order.no_migration);
    lease.version = VERSION;
    lease.bump = bump;
    order.invariant()?;
    node.invariant()?;
    lease.invariant(now)
}
