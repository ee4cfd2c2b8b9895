//! Harm is settled money: a customer gets no more out of slashes for a lease than the lease has really paid, at the
//! lowest price of the stake token that there was. A finder gets a tenth besides.

use std::collections::BTreeMap;

use gantry_market::constants::STAKE_UNIT;
use gantry_market::state::{Fault, Lease};
use solana_address::Address;

use super::{broken, Flows, HARM};
use crate::hostile::rules::{Act, Verdict};

#[derive(Clone, Default)]
pub struct Harm {
    /// Compensation by lease.
    got: BTreeMap<Address, i128>,
    /// µUSDC for a whole stake token, at its lowest.
    price: Option<u64>,
}

impl Harm {
    pub fn check(&mut self, act: &Act, flows: &Flows) -> Verdict {
        let Some(market) = act.market() else { return Ok(()) };
        let now = market.params.stake_price.max(1);
        let price = self.price.map_or(now, |known| known.min(now));
        self.price = Some(price);
        if flows.slashed.is_empty() && act.changes::<Fault>().next().is_none() {
            return Ok(());
        }
        for meta in &act.instruction.accounts {
            let Some(lease) = act.ledger.get::<Lease>(&meta.pubkey) else { continue };
            let gained = flows.gained(&lease.customer);
            if gained <= 0 {
                continue;
            }
            let as_finder = act.signed(&lease.customer) || finds(act, &lease.customer);
            let share = if as_finder { flows.taken() / 10 } else { 0 };
            let got = self.got.entry(meta.pubkey).or_default();
            *got += gained - share.min(gained);
            let paid = i128::from(lease.paid) * i128::from(STAKE_UNIT) / i128::from(price);
            if *got > paid {
                let what = format!("{}: {got} for {}, which paid {paid}", act.name, meta.pubkey);
                return broken(HARM, what);
            }
        }
        Ok(())
    }
}

/// Whether a wallet is the finder of the act's fault.
fn finds(act: &Act, wallet: &Address) -> bool {
    act.changes::<Fault>().any(|change| change.either().finder == *wallet)
}
