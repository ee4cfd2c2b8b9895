//! Reputation is bought with fees that nobody gets back: what a node's record gains by leases and ratings, and what a
//! provider is credited for emission, is no more than what their leases left in the fee vault; of the latter the part of
//! the time that the node was up.

use std::collections::BTreeMap;

use gantry_market::constants::{BPS, STAKE_UNIT};
use gantry_market::state::{Lease, Node, Provider};
use solana_address::Address;

use super::{broken, FEES};
use crate::hostile::entity::Token;
use crate::hostile::rules::{Act, Verdict};
use crate::pda;

#[derive(Clone, Default)]
pub struct Fees {
    /// µUSDC that came into the fee vault from leases of a node.
    swept: BTreeMap<Address, i128>,
    /// What ratings count of leases that are not closed.
    rated: BTreeMap<Address, i128>,
}

impl Fees {
    pub fn check(&mut self, act: &Act) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        let vault = act.changes::<Token>().find(|change| change.at == market.fee_vault);
        let swept = vault
            .and_then(|change| change.both())
            .map_or(0, |(before, after)| i128::from(after.amount) - i128::from(before.amount));
        let closed =
            act.changes::<Lease>().find_map(|change| change.closed().map(|lease| (change.at, lease)));
        if let Some((at, lease)) = closed {
            *self.swept.entry(lease.node).or_default() += swept;
            let rated = self.rated.remove(&at).unwrap_or(0);
            // What the issuer has frozen is not swept, and does not come back to its customer either.
            let open = |at: &Address| act.ledger.get::<Token>(at).is_some_and(|token| !token.frozen);
            let vault = pda::credits_vault(&pda::credits(&lease.customer));
            if rated > swept && open(&market.fee_vault) && open(&vault) {
                return broken(FEES, format!("{}: {at} was rated by {rated}, {swept} was swept", act.name));
            }
        }
        for change in act.changes::<Provider>() {
            let Some((before, after)) = change.both() else { continue };
            let credited = i128::from(after.emission) - i128::from(before.emission);
            let params = &market.params;
            let up = closed
                .and_then(|(_, lease)| act.ledger.get::<Node>(&lease.node))
                .map_or(0, |node| i128::from(node.uptime_bps));
            let share = swept.max(0) * i128::from(params.emission_bps) * up * i128::from(STAKE_UNIT);
            let whole = i128::from(BPS) * i128::from(BPS);
            if credited * i128::from(params.stake_price) * whole > share {
                return broken(FEES, format!("{}: {credited} credited, {swept} swept, {up} up", act.name));
            }
        }
        for change in act.changes::<Node>() {
            if change.after.is_none() {
                self.swept.remove(&change.at);
            }
            let Some((before, after)) = change.both() else { continue };
            let weighs = i128::from(after.rating_weight) - i128::from(before.rating_weight);
            let rated = act.changes::<Lease>().next().map(|change| change.at);
            if let Some(lease) = rated.filter(|_| weighs > 0) {
                *self.rated.entry(lease).or_default() += weighs;
            }
            let swept = self.swept.get(&change.at).copied().unwrap_or(0);
            if i128::from(after.fees_completed) > swept {
                let what = format!("{}: {} for fees of {swept}", act.name, after.fees_completed);
                return broken(FEES, what);
            }
        }
        Ok(())
    }
}
