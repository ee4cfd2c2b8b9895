//! Shared by the proofs of unjust awards: the facts that must have held from before the order until the award, and the
//! slash.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::UnjustAwardProven;
use crate::math::fees::bps_of;
use crate::math::reputation::reputation_of;
use crate::math::score::score;
use crate::math::slashing::{harm_in_stake, split};
use crate::slashing::{lighten, Slashed};
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
    pub stake_mint: &'a mut Account<Mint>,
    pub customer_tokens: Option<&'a mut Account<TokenAccount>>,
    pub finder_tokens: &'a mut Account<TokenAccount>,
    pub token_program: &'a Program<Token>,
    pub finder: Address,
    /// The node that should have been awarded, or that would have lowered the price.
    pub better: Address,
}

impl Unjust<'_> {
    /// Slashes once for a lease: the customer gets up to `harm` µUSDC in stake, the finder its share, the rest is
    /// burned.
    #[inline(never)]
    pub fn punish(self, better_score: u64, harm: u64, now: i64) -> Result<()> {
        let params = self.market.params;
        let awarded_score = self.lease.score;
        self.lease.score = 0;
        let harm = harm_in_stake(harm, params.stake_price)?;
        let share = bps_of(self.keeper.bond, params.slash_unjust_award_bps)?;
        let amount = self.keeper.slash(share)?;
        lighten(self.market, self.keeper, now)?;
        let shares = split(amount, harm, params.finder_bps)?;
        Slashed {
            token_program: self.token_program,
            vault: &mut *self.stake_vault,
            mint: self.stake_mint,
            seed: Slashed::KEEPER,
            wallet: self.keeper.wallet,
            bump: self.keeper.bump,
            authority: self.keeper.cpi_handle(),
            customer_tokens: self.customer_tokens,
            customer: self.lease.customer,
            finder_tokens: self.finder_tokens,
            finder: self.finder,
        }
        .distribute(&shares)?;
        emit!(UnjustAwardProven {
            lease: *self.lease.address(),
            keeper: *self.keeper.address(),
            finder: self.finder,
            better: self.better,
            awarded_score,
            better_score,
            amount,
            customer: shares.customer,
            finder_share: shares.finder,
            burned: shares.burned,
        });
        self.keeper.invariant(self.stake_vault.amount())?;
        self.market.invariant()
    }
}
