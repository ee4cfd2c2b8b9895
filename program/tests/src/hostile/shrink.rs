//! Shortens a failing record to what is needed: halves, then quarters, and so on down to single steps.

use super::harness::Harness;
use super::run::{replay, replay_only, Failure};
use super::trace::Step;
use super::wind_down::STUCK;

/// Steps that are replayed at most: a long record may keep some that it does not need.
const BUDGET: usize = 150_000;

/// Lengths of the ends that are tried alone first.
const ENDS: [usize; 6] = [6, 12, 25, 50, 100, 200];

/// A record that breaks the same rule, with no step that could be left out alone.
pub fn shrink(start: &Harness, failure: &Failure) -> Vec<Step> {
    let rule = failure.violation.rule;
    // Emptying the market takes longer than the record itself: only for what is stuck.
    let at_end = rule == STUCK;
    let mut budget = BUDGET;
    let mut fails = |steps: &[Step]| {
        if budget == 0 {
            return false;
        }
        let found = if at_end { replay(start, steps).1 } else { replay_only(start, steps).1 };
        // What breaks a rule early is short.
        budget = budget.saturating_sub(found.as_ref().map_or(steps.len(), |found| found.steps.len()));
        found.is_some_and(|found| found.violation.rule == rule)
    };
    let mut steps = failure.steps.clone();
    if !fails(&steps) {
        // It needs more than the record: nothing can be left out.
        return steps;
    }
    // Most finds are one scenario at the end.
    for last in ENDS.into_iter().filter(|last| *last < failure.steps.len()) {
        let end = &failure.steps[failure.steps.len() - last..];
        if fails(end) {
            steps = end.to_vec();
            break;
        }
    }
    let mut size = steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < steps.len() {
            let end = (at + size).min(steps.len());
            let without: Vec<Step> = [&steps[..at], &steps[end..]].concat();
            if fails(&without) {
                steps = without;
                shorter = true;
            } else {
                at = end;
            }
        }
        if size == 1 && !shorter {
            break;
        }
        if !shorter || size > 1 {
            size = if size == 1 { 1 } else { size.div_ceil(2) };
        }
    }
    steps
}
