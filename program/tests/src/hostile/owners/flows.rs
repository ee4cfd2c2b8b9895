//! The money of one instruction: what was slashed and burned, and what each owner and wallet gained.

use std::collections::BTreeMap;

use gantry_market::state::{Keeper, Payout, Provider};
use solana_address::Address;

use super::Owners;
use crate::hostile::entity::{Entity, Token};
use crate::hostile::ledger::Ledger;
use crate::hostile::rules::Act;
use crate::pda;

/// Base units of the stake token that a µUSDC counts: one token is one USDC.
pub const RATE: i128 = 1_000;

/// Instructions by which an owner takes its own stake or bond back.
const EXITS: [&str; 3] = ["provider_withdraw_stake", "provider_close", "keeper_withdraw"];

/// What moved in one instruction. Amounts are base units of the stake token.
#[derive(Default)]
pub struct Flows {
    /// Providers' and keepers' accounts whose vaults lost tokens by a slash.
    pub slashed: Vec<(Address, i128)>,
    /// The same for what their owners took back.
    pub left: Vec<(Address, i128)>,
    /// What the supply of the stake token fell by.
    pub burned: i128,
    /// What the wealth of each owner rose by, both tokens at a fixed rate.
    pub owners: BTreeMap<usize, i128>,
    /// Stake tokens that arrived in token accounts of wallets.
    pub arrived: BTreeMap<Address, i128>,
    /// What payouts that wait for wallets rose by, or fell by when they were claimed.
    pub owed: BTreeMap<Address, i128>,
}

impl Flows {
    pub fn of(act: &Act, owners: &Owners) -> Self {
        let mut flows = Self::default();
        let Some(market) = act.market() else { return flows };
        for change in act.changes::<Token>() {
            let token = change.either();
            let amount = |token: Option<&Token>| token.map_or(0, |token| i128::from(token.amount));
            let gained = amount(change.after) - amount(change.before);
            let worth = if token.mint == market.stake_mint {
                gained
            } else if token.mint == market.payment_mint {
                gained * RATE
            } else {
                continue;
            };
            if let Some(owner) = owners.owner(&token.owner) {
                *flows.owners.entry(owner).or_default() += worth;
            }
            if token.mint != market.stake_mint {
                continue;
            }
            if bonded(act.ledger, &token.owner) {
                if gained < 0 && EXITS.contains(&act.name) {
                    flows.left.push((token.owner, -gained));
                } else if gained < 0 {
                    flows.slashed.push((token.owner, -gained));
                }
            } else if token.owner != pda::market() {
                *flows.arrived.entry(token.owner).or_default() += gained;
            }
        }
        // What waits for a wallet is its own, though it cannot have it yet.
        for change in act.changes::<Payout>() {
            let amount = |payout: Option<&Payout>| payout.map_or(0, |payout| i128::from(payout.amount));
            let payout = change.either();
            let more = amount(change.after) - amount(change.before);
            *flows.owed.entry(payout.beneficiary).or_default() += more;
            if let Some(owner) = owners.owner(&payout.beneficiary) {
                *flows.owners.entry(owner).or_default() += more;
            }
        }
        for moved in act.moved.iter().filter(|moved| moved.at == market.stake_mint) {
            let supply =
                |held: &Option<crate::hostile::entity::Held>| match held.as_ref().map(|held| &held.entity) {
                    Some(Entity::Mint { supply }) => i128::from(*supply),
                    _ => 0,
                };
            flows.burned = supply(&moved.before) - supply(&moved.after);
        }
        flows
    }

    /// What payouts rose by.
    pub fn credited(&self) -> i128 {
        self.owed.values().filter(|amount| **amount > 0).sum()
    }

    /// All that was slashed.
    pub fn taken(&self) -> i128 {
        self.slashed.iter().map(|(_, amount)| amount).sum()
    }
}

/// Whether an address is a provider's or keeper's account: the vaults that it holds are stake or bond.
fn bonded(ledger: &Ledger, at: &Address) -> bool {
    ledger.get::<Provider>(at).is_some() || ledger.get::<Keeper>(at).is_some()
}

/// The stake tokens that a wallet has, bonded ones left out.
pub fn wealth_of_wallet(ledger: &Ledger, wallet: &Address, mint: &Address) -> i128 {
    let own = ledger.all::<Token>().filter(|(_, token)| token.owner == *wallet && token.mint == *mint);
    let waits = ledger.all::<Payout>().filter(|(_, payout)| payout.beneficiary == *wallet);
    own.map(|(_, token)| i128::from(token.amount)).sum::<i128>()
        + waits.map(|(_, payout)| i128::from(payout.amount)).sum::<i128>()
}
