//! Nothing is earned for work that nobody did: money leaves a customer for seconds that receipts or final reports name,
//! a keeper's share of an award is part of a fee, and emission is a fifth of fees that were paid.

use std::collections::BTreeMap;

use gantry_market::constants::{BPS, RECEIPT_TAG, STAKE_UNIT};
use gantry_market::state::{Keeper, Lease, Order, Provider, Rewards};
use solana_address::Address;

use super::{broken, WORK};
use crate::hostile::rules::{Act, Verdict};
use crate::pda;

#[derive(Clone, Default)]
pub struct Work {
    /// Seconds that signed receipts name, and those that final reports name, by lease and its start.
    seconds: BTreeMap<(Address, i64), (u64, u64)>,
    /// µUSDC of fees that a provider's leases paid, and base units of the stake token emitted to it.
    fees: BTreeMap<Address, (i128, i128)>,
    /// µUSDC for a whole stake token, at its lowest.
    price: Option<u64>,
}

impl Work {
    pub fn check(&mut self, act: &Act) -> Verdict {
        self.receipts(act);
        let Some(market) = act.market() else { return Ok(()) };
        let now = market.params.stake_price.max(1);
        let price = self.price.map_or(now, |known| known.min(now));
        self.price = Some(price);
        for change in act.changes::<Lease>() {
            if let Some((before, after)) = change.both() {
                let key = (change.at, before.started_at);
                let named = self.seconds.entry(key).or_default();
                named.1 += u64::from(after.verified_secs.saturating_sub(before.verified_secs));
                let most = named.0.max(named.1);
                if u64::from(after.paid_secs) > most.max(u64::from(before.paid_secs)) {
                    let what =
                        format!("{}: {} paid {} seconds of {most}", act.name, change.at, after.paid_secs);
                    return broken(WORK, what);
                }
            }
            if let Some(lease) = change.closed() {
                self.seconds.remove(&(change.at, lease.started_at));
                let fee = i128::from(lease.fee_total().unwrap_or(0));
                self.fees.entry(lease.provider).or_default().0 += fee;
                let gained = |keeper: Option<&Keeper>| keeper.map_or(0, |keeper| i128::from(keeper.earned));
                let award: i128 = act.changes::<Keeper>().map(|k| gained(k.after) - gained(k.before)).sum();
                // Who stopped the order's auction has no share of it.
                let order = act.ledger.get::<Order>(&lease.order);
                let stopped = order.is_some_and(|order| order.stopped == 1) && lease.of_first_keeper == 1;
                let share = if stopped { 0 } else { i128::from(lease.award_bps) };
                if award * i128::from(BPS) > fee * share {
                    return broken(WORK, format!("{}: {award} for an award, fee {fee}", change.at));
                }
            }
        }
        if act.name == "emission_claim" {
            return self.emission(act, price);
        }
        Ok(())
    }

    /// Signed receipts, whether or not the market does anything with them.
    fn receipts(&mut self, act: &Act) {
        for (key, text) in
            act.verified.iter().filter(|(_, text)| text.len() == 72 && text[..8] == RECEIPT_TAG)
        {
            let word = |at: usize| <[u8; 8]>::try_from(&text[at..at + 8]).expect("eight bytes");
            let at = Address::new_from_array(text[16..48].try_into().expect("32 bytes"));
            let Some(lease) = act.ledger.get::<Lease>(&at) else { continue };
            let both = act.verified.iter().any(|(other, same)| {
                same == text
                    && *key == lease.node_key
                    && *other != *key
                    && act.speaks_for(other, &lease.customer)
            });
            if both {
                let named = self.seconds.entry((at, i64::from_le_bytes(word(48)))).or_default();
                named.0 = named.0.max(u64::from_le_bytes(word(64)));
            }
        }
    }

    fn emission(&mut self, act: &Act, price: u64) -> Verdict {
        let total = |rewards: Option<&Rewards>| rewards.map_or(0, |found| i128::from(found.emitted_total));
        let before = total(act.ledger.get(&pda::rewards()));
        let emitted = total(act.after(&pda::rewards())) - before;
        let Some(provider) = act.changes::<Provider>().next() else { return Ok(()) };
        let (fees, sum) = self.fees.entry(provider.at).or_default();
        *sum += emitted;
        // A fifth at most.
        let most = *fees * i128::from(STAKE_UNIT) / i128::from(price) / 5;
        if *sum > most {
            return broken(WORK, format!("{}: {sum} emitted, {most} by fees", provider.at));
        }
        Ok(())
    }
}
