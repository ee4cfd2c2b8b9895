//! What must hold, seen from outside: the program is not asked whether it kept its rules.
//!
//! Rules of change look at one instruction, its signers, and every account before and after it. Rules of state look at
//! all accounts together. Formulas come from the program's own pure functions, compiled for the host, whose definitions
//! are tested against plain integers in tests/math.rs.

mod auctions;
mod disputes;
mod faults;
mod figures;
mod governance;
mod guarantees;
mod health;
mod keepers;
mod leases;
mod money;
mod omitted;
mod outages;
mod outputs;
mod providers;
mod rent;
mod reports;
mod rewards;
mod slashes;
mod state;

use std::collections::BTreeSet;

use gantry_market::state::{Credits, Keeper, Market};
use solana_address::Address;
use solana_instruction::Instruction;

use super::entity::{Held, Kind};
use super::ledger::Ledger;
use crate::pda;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
}

pub type Verdict = Result<(), Violation>;

/// Fails with the rule's name and what was seen.
macro_rules! must {
    ($holds:expr, $rule:literal, $($what:tt)+) => {
        if !$holds {
            return Err($crate::hostile::rules::Violation { rule: $rule, what: format!($($what)+) });
        }
    };
}
pub(crate) use must;
pub use reports::leaf;

/// An account that an instruction changed, created or closed.
pub struct Moved {
    pub at: Address,
    pub before: Option<Held>,
    pub after: Option<Held>,
}

/// One instruction of the market that succeeded.
pub struct Act<'a> {
    /// Everything just before it.
    pub ledger: &'a Ledger,
    pub moved: Vec<Moved>,
    pub signers: BTreeSet<Address>,
    pub instruction: &'a Instruction,
    pub name: &'static str,
    /// Keys and messages whose signatures the transaction's checks verified.
    pub verified: Vec<(Address, Vec<u8>)>,
    pub now: i64,
}

/// An entity before and after; either may be missing, not both.
pub struct Change<'a, T> {
    pub at: Address,
    pub before: Option<&'a T>,
    pub after: Option<&'a T>,
}

impl<'a, T> Change<'a, T> {
    pub fn created(&self) -> Option<&'a T> {
        self.after.filter(|_| self.before.is_none())
    }

    pub fn closed(&self) -> Option<&'a T> {
        self.before.filter(|_| self.after.is_none())
    }

    pub fn both(&self) -> Option<(&'a T, &'a T)> {
        self.before.zip(self.after)
    }

    pub fn either(&self) -> &'a T {
        self.before.or(self.after).expect("one of them is there")
    }
}

impl Act<'_> {
    pub fn changes<T: Kind>(&self) -> impl Iterator<Item = Change<'_, T>> {
        self.moved.iter().filter_map(|moved| {
            let before = moved.before.as_ref().and_then(|held| T::of(&held.entity));
            let after = moved.after.as_ref().and_then(|held| T::of(&held.entity));
            (before.is_some() || after.is_some()).then_some(Change { at: moved.at, before, after })
        })
    }

    /// The entity as it is after the act, changed or not.
    pub fn after<T: Kind>(&self, at: &Address) -> Option<&T> {
        match self.moved.iter().find(|moved| moved.at == *at) {
            Some(moved) => moved.after.as_ref().and_then(|held| T::of(&held.entity)),
            None => self.ledger.get(at),
        }
    }

    pub fn signed(&self, who: &Address) -> bool {
        self.signers.contains(who)
    }

    /// The keepers that the instruction names, before the act.
    pub fn keepers(&self) -> impl Iterator<Item = &Keeper> {
        self.instruction.accounts.iter().filter_map(|meta| self.ledger.get::<Keeper>(&meta.pubkey))
    }

    /// The one of them whose signer signed.
    pub fn keeper(&self) -> Option<&Keeper> {
        self.keepers().find(|keeper| self.signed(&keeper.signer))
    }

    pub fn verified(&self, who: &Address, message: &[u8]) -> bool {
        self.verified.iter().any(|(key, text)| key == who && text == message)
    }

    /// Whether a key speaks for a customer: its own, or a session key that is named and has not expired.
    pub fn speaks_for(&self, key: &Address, customer: &Address) -> bool {
        let credits = self.ledger.get::<Credits>(&pda::credits(customer));
        let named = |credits: &Credits| {
            credits.session_keys.iter().any(|slot| slot.key == *key && slot.cap > 0 && self.now < slot.expiry)
        };
        key == customer || credits.is_some_and(named)
    }

    /// Whether the customer or one of its session keys signed.
    pub fn customer_acts(&self, customer: &Address) -> bool {
        self.signers.iter().any(|key| self.speaks_for(key, customer))
    }

    /// The market before the act; none while there is none.
    pub fn market(&self) -> Option<&Market> {
        self.ledger.get(&pda::market())
    }
}

/// Every rule of change.
pub fn of_change(act: &Act) -> Verdict {
    let Some(market) = act.market() else { return Ok(()) };
    money::check(act, market)?;
    providers::check(act, market)?;
    guarantees::check(act, market)?;
    figures::check(act, market)?;
    health::check(act, market)?;
    leases::check(act, market)?;
    auctions::check(act, market)?;
    reports::check(act, market)?;
    faults::check(act, market)?;
    rewards::check(act, market)?;
    disputes::check(act, market)?;
    outages::check(act, market)?;
    outputs::check(act)?;
    slashes::check(act, market)?;
    keepers::check(act, market)?;
    governance::check(act, market)?;
    rent::check(act)
}

/// Every rule of state.
pub fn of_state(ledger: &Ledger, now: i64) -> Verdict {
    state::check(ledger, now)
}
