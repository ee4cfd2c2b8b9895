//! Shared by the proofs of unjust awards: the facts that must have held from before the order until the award, and the
//! slash.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::errors::{MarketError, OrOverflow};
use crate::events::UnjustAwardProven;
use crate::math::fees::bps_of;
use crate::math::reputation::reputation_of;
use crate::math::score::score;
use crate::math::slashing::split;
use crate::slashing::*;
use crate::state::{GpuModel, Keeper, Lease, Market, Node, NodeRecord, Order, NODE_ACTIVE};

/// The highest score that the node's ask or bid had between `since` and the award: reputation only grows with age, and
/// the uptime guarantee must not have ended before. The node must have been awardable all that time: active, healthy,
/// with free GPUs, all claims, enough stake, an unchanged score record and unchanged terms of its model.
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
        && price > 0
        && price <= order.max_price;
    require!(held, MarketError::NotBetter);
    let record = node.worst_throughout(since, awarded_at).ok_or(MarketError::NotBetter)?;
    let (site, end) = (&node.spec.site, order.latest_end()?);
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
}

impl Unjust<'_> {
    /// Slashes once for a lease. Nothing goes to the customer, which may be the keeper itself: the finder gets its
    /// share after the delay of a bond, the rest is burned.
    #[inline(never)]
    pub fn punish(self, better_score: u64, now: i64) -> Result<()> {
        let params = self.market.params;
        let awarded_score = self.lease.score;
        self.lease.score = 0;
        let share = bps_of(self.keeper.bond, params.slash_unjust_award_bps)?;
        let amount = self.keeper.slash(share)?;
        lighten(self.market, self.keeper, now)?;
        let shares = split(amount, params.finder_bps)?.claimed(0)?;
        let (finder, source) = (*self.finder.address(), *self.keeper.address());
        self.payouts.divide(
            Slashed {
                vault: &mut *self.stake_vault,
                seed: Slashed::KEEPER,
                wallet: self.keeper.wallet,
                bump: self.keeper.bump,
                authority: self.keeper.cpi_handle(),
            },
            &shares,
        )?;
        let payable_at = now.checked_add(params.keeper_exit_secs as i64).or_overflow()?;
        let credit = Credit { beneficiary: finder, source, amount: shares.finder, payable_at };
        self.payouts.credit(self.finder, &credit)?;
        emit!(UnjustAwardProven {
            lease: *self.lease.address(),
            keeper: source,
            finder,
            better: self.better,
            awarded_score,
            better_score,
            amount,
            finder_share: shares.finder,
            burned: shares.burned,
        });
        self.keeper.invariant(self.stake_vault.amount())?;
        self.market.invariant()
    }
}
