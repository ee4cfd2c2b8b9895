//! Ready-made stories of several chapters: what only happens when many things come in the right order.
//!
//! Each chapter is planned when its turn comes, from the state as it is then. Random steps come in between; whatever they
//! destroy, the chapters that needed it are refused or find nothing to do.

use std::collections::VecDeque;

use super::actions::STORIES;
use super::scene::{Plan, Scene};

/// A part of a story. Without a plan the story ends; an empty one is passed over.
pub type Chapter = Box<dyn FnOnce(&mut Scene) -> Option<Plan>>;

/// The chapters that are left.
#[derive(Default)]
pub struct Story(VecDeque<Chapter>);

/// One story begins in so many turns without one.
const BEGINS: u64 = 20;
/// A turn in so many belongs to chance while a story is told.
const INTERRUPTED: u64 = 5;

impl Story {
    pub fn then(mut self, chapter: impl FnOnce(&mut Scene) -> Option<Plan> + 'static) -> Self {
        self.0.push_back(Box::new(chapter));
        self
    }

    /// The same with more chapters when something is so.
    pub fn then_if(self, so: bool, chapter: impl FnOnce(&mut Scene) -> Option<Plan> + 'static) -> Self {
        if so {
            self.then(chapter)
        } else {
            self
        }
    }
}

/// What happens next in the story that is told, or in one that begins. None when the turn is chance's.
pub fn next(s: &mut Scene) -> Option<Plan> {
    if s.memory.story.0.is_empty() {
        if !s.once_in(BEGINS) {
            return None;
        }
        let at = s.below(STORIES.len());
        s.memory.story = STORIES[at](s)?;
    } else if s.once_in(INTERRUPTED) {
        return None;
    }
    while let Some(chapter) = s.memory.story.0.pop_front() {
        match chapter(s) {
            Some(plan) if plan.is_empty() => {}
            Some(plan) => return Some(plan),
            None => s.memory.story = Story::default(),
        }
    }
    None
}
