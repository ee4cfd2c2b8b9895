//! Shared by the proofs of unjust awards: the facts that must have held from before the order until the award, and the
//! slash.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::UNJUST_FACTOR;
use crate::errors::{MarketError, OrOverflow};
use crate::events::UnjustAwardProven;
use crate::math::fees::bps_of;
use crate::math::reputation::reputation_of;
use crate::math::score::score;
use crate::math::slashing::harm_in_stake;
use crate::slashing::*;
use crate::state::{GpuModel, Keeper, Lease, Market, Node, NodeRecord, Order, NODE_ACTIVE};

/// The highest score that the node's ask or bid had between `since` and the award: reputation only grows with age, and
/// the uptime guarantee must not have ended before. The node must have been awardable all that time: active, healthy,
/// with free GPUs, all claims, enough stake, an unchanged score record, unchanged terms of its model, of its class, and
/// where the order asks for figures with unchanged ones.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub fn score_throughout(
    node: &Node,
    price: u64,
    model: &GpuModel,
    order: &Order,
    since: i64,
    awarded_at: i64,
) -> Result<u64> {
    let free = node.availability.free_throughout(since, awarded_at);
    // Stake that covers now and did since covered all the time.
    let held = node.status == NODE_ACTIVE
        && node.available_since < since
        && free.is_some_and(|free| free >= order.gpus_per_node)
        && node.healthy_throughout(since, order.asked_at())
        && node.covered()
        && node.covered_since < since
        && model.since < since
        && node.terms_at < since
        && node.figures_before(since, order.requirement.asks_for_figures())
        && price > 0
        && price <= order.max_price;
    require!(held, MarketError::NotBetter);
    let record = node.worst_throughout(since, awarded_at).ok_or(MarketError::NotBetter)?;
    let (site, end) = (order.site_wanted(&node.spec.site), order.latest_end()?);
    order.requirement.suited_by(node, model, site, &record, since, end)?;
    score_of(&record, node.registered_at, price, since, awarded_at)
}

/// The score of a price by a record, with the reputation of `since` and the uptime guarantee as it counts at the award.
pub fn score_of(
    record: &NodeRecord,
    registered_at: i64,
    price: u64,
    since: i64,
    awarded_at: i64,
) -> Result<u64> {
    let reputation = reputation_of(&record.score, registered_at, since);
    score(price, reputation, record.guarantee.bps_at(awarded_at))
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
        let gain = self.lease.reprice(self.better_price, better_score)?;
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
            amount,
            finder_share: shares.finder,
            burned: shares.burned,
        });
        self.lease.invariant(now)?;
        self.keeper.invariant(self.stake_vault.amount())?;
        self.market.invariant()
    }
}
