//! Planned scenarios of several stages: what only happens when many things come in the right order.
//!
//! Each stage is planned when its turn comes, from the state as it is then. Random steps come in between; whatever they
//! destroy, the stages that needed it are refused or find nothing to do.

use std::collections::VecDeque;

use super::actions::SCENARIOS;
use super::scene::{Plan, Scene};

/// A part of a scenario. Without a plan the scenario ends; an empty one is passed over.
pub type Stage = Box<dyn FnOnce(&mut Scene) -> Option<Plan>>;

/// The stages that are left.
#[derive(Default)]
pub struct Scenario(VecDeque<Stage>);

/// One scenario begins in so many turns without one.
const BEGINS: u64 = 20;
/// A turn in so many belongs to chance while a scenario runs.
const INTERRUPTED: u64 = 5;

impl Scenario {
    pub fn then(mut self, stage: impl FnOnce(&mut Scene) -> Option<Plan> + 'static) -> Self {
        self.0.push_back(Box::new(stage));
        self
    }

    /// Takes the next stage out.
    pub fn next_stage(&mut self) -> Option<Stage> {
        self.0.pop_front()
    }

    /// The same with more stages when something is so.
    pub fn then_if(self, so: bool, stage: impl FnOnce(&mut Scene) -> Option<Plan> + 'static) -> Self {
        if so {
            self.then(stage)
        } else {
            self
        }
    }
}

/// What happens next in the scenario that runs, or in one that begins. None when the turn is chance's.
pub fn next(s: &mut Scene) -> Option<Plan> {
    if s.memory.scenario.0.is_empty() {
        if !s.once_in(BEGINS) {
            return None;
        }
        let at = s.below(SCENARIOS.len());
        s.memory.scenario = SCENARIOS[at](s)?;
    } else if s.once_in(INTERRUPTED) {
        return None;
    }
    while let Some(stage) = s.memory.scenario.next_stage() {
        match stage(s) {
            Some(plan) if plan.is_empty() => {}
            Some(plan) => return Some(plan),
            None => s.memory.scenario = Scenario::default(),
        }
    }
    None
}
