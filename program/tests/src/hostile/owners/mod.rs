//! What must hold for owners, each of whom may have any set of wallets.
//!
//! The rules of `rules/` look at one instruction and restate the program's accounting. These follow money and signed
//! records through a sequence, and add up what several wallets of one owner lose and gain: a slash that a customer gets
//! is none when the customer is the slashed provider itself. Everything here is seen from outside: token accounts, the
//! supply of the stake token, receipts, leaves, and the times at which they were seen.

mod accepted;
mod addresses;
mod ages;
mod asleep;
mod cast;
mod causes;
mod exits;
mod fees;
mod flows;
mod frozen;
mod harm;
mod idle;
mod marks;
mod missed;
pub mod orders;
mod pools;
mod silence;
mod slashes;
mod stakes;
pub mod terms;
mod verdicts;
mod work;

use super::ledger::Ledger;
use super::rules::{Act, Verdict, Violation};
pub use cast::{Owners, OWNERS};
pub use flows::{wealth_of_wallet, Flows};

pub const HALF: &str = "half of a slash is burned";
pub const OWN: &str = "no owner gains by its own slash";
pub const EXIT: &str = "no stake or bond leaves before its delay";
pub const HARM: &str = "compensation is money that was paid";
pub const ORDER: &str = "a compensation depends on no order and no sender";
pub const POOL: &str = "a pool goes to its victims or is burned";
pub const CAUSE: &str = "a cause costs what its gravest finding does";
pub const FROZEN: &str = "no frozen second is paid";
pub const SILENT: &str = "silence costs an hour of the lease at most";
pub const FEES: &str = "reputation costs fees that do not come back";
pub const IDLE: &str = "who does not act pays for it";
pub const ACCEPTED: &str = "accepted work is paid whoever is silent";
pub const TIME: &str = "whoever works has the time that was ordered";
pub const WORK: &str = "work that was not done earns nothing";
pub const STAKES: &str = "a slash takes the stake of one node";
pub const VERDICT: &str = "a penalty needs more than two thirds of the weight";
pub const VETO: &str = "less than a third voids no fault";
pub const TERMS: &str = "no change of parameters slashes anybody";
pub const MARK: &str = "nobody knows before an order how it will remember a node";
pub const MISSED: &str = "who does not start waits for its next order";
pub const ASLEEP: &str = "a fault is not about the time that its machine slept";
pub const AGE: &str = "a machine grows older by good periods alone";
pub const ADDRESS: &str = "in a period one address is one lease";

/// Every rule by owner.
pub const RULES: [&str; 23] = [
    HALF, OWN, EXIT, HARM, ORDER, POOL, CAUSE, FROZEN, SILENT, FEES, IDLE, ACCEPTED, TIME, WORK, STAKES,
    VERDICT, VETO, TERMS, MARK, MISSED, ASLEEP, AGE, ADDRESS,
];

/// Rules that the program is known to break, with the finding of docs/findings.md that says so. They are checked only
/// where they are asked for by name. The list is empty once the findings are mended.
pub const WAITING: &[(&str, &str)] = &[];

/// Which of the rules count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checked {
    /// All but those that wait for a finding.
    #[default]
    Landed,
    /// This one alone, waiting or not, where an instruction breaks it whose name begins so.
    Only(&'static str, &'static str),
}

/// What the rules remember of a sequence.
#[derive(Clone)]
pub struct Books {
    pub owners: Owners,
    pub checked: Checked,
    slashes: slashes::Slashes,
    exits: exits::Exits,
    harm: harm::Harm,
    pools: pools::Pools,
    causes: causes::Causes,
    frozen: frozen::Frozen,
    silence: silence::Silence,
    fees: fees::Fees,
    idle: idle::Idle,
    accepted: accepted::Accepted,
    work: work::Work,
    stakes: stakes::Stakes,
    verdicts: verdicts::Verdicts,
    marks: marks::Marks,
    missed: missed::Missed,
    asleep: asleep::Asleep,
    ages: ages::Ages,
    addresses: addresses::Addresses,
    pub terms: terms::Terms,
}

impl Books {
    pub fn new(owners: Owners) -> Self {
        Self {
            owners,
            checked: Checked::default(),
            slashes: Default::default(),
            exits: Default::default(),
            harm: Default::default(),
            pools: Default::default(),
            causes: Default::default(),
            frozen: Default::default(),
            silence: Default::default(),
            fees: Default::default(),
            idle: Default::default(),
            accepted: Default::default(),
            work: Default::default(),
            stakes: Default::default(),
            verdicts: Default::default(),
            marks: Default::default(),
            missed: Default::default(),
            asleep: Default::default(),
            ages: Default::default(),
            addresses: Default::default(),
            terms: Default::default(),
        }
    }

    fn counts(&self, found: &Violation) -> bool {
        match self.checked {
            Checked::Landed => WAITING.iter().all(|(waits, _)| *waits != found.rule),
            Checked::Only(rule, by) => rule == found.rule && found.what.starts_with(by),
        }
    }

    /// The verdict, unless it is about a rule that does not count.
    pub fn judged(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Err(violation) if self.counts(&violation) => Err(violation),
            _ => Ok(()),
        }
    }

    /// Notes one instruction and says whether it keeps the rules.
    pub fn check(&mut self, act: &Act) -> Verdict {
        let flows = Flows::of(act, &self.owners);
        let [half, own, later] = self.slashes.check(act, &flows, &self.owners);
        let [verdict, veto] = self.verdicts.check(act);
        let [order, pool] = self.pools.check(act, &flows, &self.harm);
        let verdicts = [
            verdict,
            veto,
            self.stakes.check(act, &flows),
            half,
            own,
            later,
            self.exits.check(act, &flows),
            self.harm.check(act, &flows),
            order,
            pool,
            self.causes.check(act, &flows),
            self.frozen.check(act),
            self.silence.check(act, &flows),
            self.fees.check(act),
            self.idle.check(act, &flows),
            self.accepted.check(act),
            self.work.check(act),
            self.marks.check(act),
            self.missed.check(act),
            self.asleep.check(act),
            self.ages.check(act),
            self.addresses.check(act),
        ];
        self.terms.note(act);
        verdicts.into_iter().try_for_each(|verdict| self.judged(verdict))
    }

    /// What must hold when everyone has left.
    pub fn at_end(&self, ledger: &Ledger) -> Verdict {
        self.judged(self.slashes.at_end(ledger))
    }
}

/// A broken rule.
pub(crate) fn broken(rule: &'static str, what: String) -> Verdict {
    Err(Violation { rule, what })
}
