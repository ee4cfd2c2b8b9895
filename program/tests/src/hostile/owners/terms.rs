//! No change of parameters slashes anybody: what is slashed now would have been slashed as much under the parameters
//! that held when the deed was done.

use gantry_market::state::{Lease, Market, Params};

use super::{broken, TERMS};
use crate::hostile::rules::{Act, Verdict};
use crate::pda;

/// The parameters of all times, the newest last.
#[derive(Clone, Default)]
pub struct Terms(Vec<(i64, Params)>);

impl Terms {
    pub fn note(&mut self, act: &Act) {
        if self.0.is_empty() {
            if let Some(market) = act.market() {
                self.0.push((i64::MIN, market.params));
            }
        }
        if let Some(after) = act.after::<Market>(&pda::market()) {
            let same =
                |(_, known): &(i64, Params)| bytemuck::bytes_of(known) == bytemuck::bytes_of(&after.params);
            if !self.0.last().is_some_and(same) {
                self.0.push((act.now, after.params));
            }
        }
    }

    /// The parameters under which the deed was done that the act punishes, where they are not today's.
    pub fn of_deed(&self, act: &Act) -> Option<Params> {
        if !matches!(act.name, "prove_better_ask" | "prove_omitted_bid") {
            return None;
        }
        let done = act.changes::<Lease>().find_map(|change| change.before.map(|lease| lease.awarded_at))?;
        let (since, params) = self.0.iter().rev().find(|(since, _)| *since <= done)?;
        let (newest, _) = self.0.last()?;
        (since != newest).then_some(*params)
    }
}

/// A slash that the parameters of its deed's time refuse is one by a change of parameters.
pub fn verdict(refused: Option<String>) -> Verdict {
    refused.map_or(Ok(()), |error| broken(TERMS, format!("the parameters of its time refuse it: {error}")))
}
