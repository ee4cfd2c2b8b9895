//! Shared by the proofs of unjust awards: the facts that must have held from before the order until the award, and the
//! slash.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::{AWARD_VIEW_SECS, UNJUST_FACTOR};
use crate::errors::{MarketError, OrOverflow};
use crate::events::UnjustAwardProven;
use crate::math::fees::bps_of;
use crate::math::score::score;
use crate::math::slashing::harm_in_stake;
use crate::slashing::*;
use crate::state::{GpuModel, Keeper, Lease, Market, Node, Order, NODE_ACTIVE};

/// What a keeper had to choose by.
pub struct Asked<'a> {
    pub order: &'a Order,
    /// From when on a better node must have stood.
    pub since: i64,
    /// What was known of a node's health by then counts.
    pub health_at: i64,
    pub awarded_at: i64,
    pub max_price: u64,
    /// The latest end that the lease could have, short of extensions.
    pub end: i64,
}

impl<'a> Asked<'a> {
    /// By an order that is awarded.
    pub fn by(order: &'a Order, since: i64, awarded_at: i64) -> Result<Self> {
        let (health_at, max_price) = (order.asked_at(), order.max_price);
        Ok(Self { order, since, health_at, awarded_at, max_price, end: order.latest_end()? })
    }

    /// By a lease that failed and moves: no node may ask more than the one that it moved to, of which is known that it
    /// asked little enough.
    pub fn by_failure(order: &'a Order, moved: &Lease) -> Result<Self> {
        let awarded_at = moved.awarded_at;
        let since = moved.failed_at.checked_sub(AWARD_VIEW_SECS).or_overflow()?;
        let end = order.start_by(awarded_at)?.checked_add(moved.duration_secs as i64).or_overflow()?;
        Ok(Self { order, since, health_at: awarded_at, awarded_at, max_price: moved.award_price, end })
    }
}

/// The highest score that the node's ask or bid had between `since` and the award: a dispute only wears off, and
/// an uptime guarantee counts where it lasts until the latest end. The node must have been awardable all that time: active, healthy,
/// with free GPUs, all claims, enough stake, an unchanged score record, unchanged terms of its model, of its class, and
/// where the order asks for figures with unchanged ones.
#[inline(never)]
pub fn score_throughout(
    node: &Node,
    price: u64,
    model: &GpuModel,
    site: &[u8; 16],
    &Asked { order, since, health_at, awarded_at, max_price, end }: &Asked,
) -> Result<u64> {
    let free = node.availability.free_throughout(since, awarded_at);
    // Stake that covers now and did since covered all the time.
    let held = node.status == NODE_ACTIVE
        && node.available_since < since
        && free.is_some_and(|free| free >= order.gpus_per_node)
        && node.healthy_throughout(since, health_at)
        && node.covered()
        && node.covered_since < since
        && model.since < since
        && node.terms_at < since
        && node.figures_before(since, order.requirement.asks_for_figures())
        && price > 0
        && price <= max_price;
    require!(held, MarketError::NotBetter);
    let record = node.worst_throughout(since, awarded_at).ok_or(MarketError::NotBetter)?;
    let reputation =
        order.requirement.suited_by(node, model, order.gpus_per_node, site, &record, since, end)?;
    score(price, reputation, record.guarantee.bps_until(end))
}

/// A keeper with a proven unjust award, and the accounts that its slashed bond goes to.
pub struct Unjust<'a> {
    pub market: &'a mut Account<Market>,
    pub lease: &'a mut Account<Lease>,
    pub keeper: &'a mut Account<Keeper>,
    pub stake_vault: &'a mut Account<TokenAccount>,
    pub payouts: &'a mut Payouts,
    pub finder: &'a AccountView,
    /// The node that should have been awarded, or that would have lowered the price.
    pub better: Address,
    /// Its ask or bid.
    pub better_price: u64,
}

impl Unjust<'_> {
    /// Reprices the lease, takes the keeper's share of its fee, and slashes the keeper by what the award costs: a share of
    /// its bond, or enough to cover what its own node could gain. Nothing of the bond goes to the customer, which may be
    /// the keeper itself. Whoever shows a still better offer later shows the same cause: it takes the difference. A keeper
    /// could shield itself otherwise, with a node of its own that is hardly better.
    #[inline(never)]
    pub fn punish(self, better_score: u64, now: i64) -> Result<()> {
        let params = &self.market.params;
        let awarded_score = self.lease.score;
        let gain = self.lease.reprice(self.better_price, better_score, now)?;
        let dearer = harm_in_stake(gain.checked_mul(UNJUST_FACTOR).or_overflow()?, params.stake_price)?;
        let least = match self.lease.unjust_due {
            0 => bps_of(self.keeper.bond, params.slash_unjust_award_bps)?,
            known => known,
        };
        let due = least.max(dearer);
        let wanted = due.checked_sub(self.lease.unjust_due).or_overflow()?;
        self.lease.unjust_due = due;
        let (amount, shares) =
            slash_bond(self.keeper, self.stake_vault, self.payouts, self.finder, wanted, params, now)?;
        lighten(self.market, self.keeper, now)?;
        emit!(UnjustAwardProven {
            lease: *self.lease.address(),
            keeper: *self.keeper.address(),
            finder: *self.finder.address(),
            better: self.better,
            awarded_score,
            better_score,
            price: self.lease.price,
            served_secs: self.lease.repriced_secs,
            served: self.lease.repriced_paid,
            amount,
            finder_share: shares.finder,
            burned: shares.burned,
        });
        self.lease.invariant(now)?;
        self.keeper.invariant(self.stake_vault.amount())?;
        self.market.invariant()
    }
}
