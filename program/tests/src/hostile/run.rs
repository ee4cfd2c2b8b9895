//! Plays sequences: from a seed, or from a record.

use gantry_market::state::Keeper;
use gantry_market::ID;
use solana_instruction::Instruction;

use super::actions::{ACTIONS, BEFORE_PROOFS};
use super::harness::{Harness, Stats};
use super::mutate::{around, spoil};
use super::rules::Violation;
use super::scenario::{self, Scenario};
use super::scene::{Memory, Scene};
use super::trace::Step;
use super::wind_down::nothing_is_stuck;
use crate::ix::name_of;
use crate::random::Random;

/// What a running keeper sends; its signer is the first account.
const BY_SIGNER: [&str; 9] = [
    "report_vote",
    "order_award",
    "auction_award",
    "lease_migrate",
    "lease_outage",
    "outage_vote",
    "dispute_vote",
    "keeper_update",
    "keeper_activate",
];
/// Steps between two times that everybody is made to leave, on a copy.
const STUCK_EVERY: usize = 1_000;

/// A sequence that broke a rule.
pub struct Failure {
    pub violation: Violation,
    /// Everything that was done, the last step included.
    pub steps: Vec<Step>,
}

/// One scenario from a seed: at most `steps` steps.
pub fn play(start: &Harness, seed: u64, steps: usize) -> (Stats, Option<Failure>) {
    let mut harness = start.fork();
    let mut done = vec![];
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
    let mut memory = Memory::default();
    let mut since = 0;
    while done.len() < steps {
        let (plan, needed) = next(&harness, &mut random, &mut memory);
        for (at, step) in plan.into_iter().enumerate() {
            if let Step::Send(instructions) = &step {
                memory.remember(instructions);
            }
            done.push(step);
            since += 1;
            harness.w.next_rent();
            match harness.apply(done.last().expect("just pushed")) {
                Ok(true) => {}
                // What was to follow needed it.
                Ok(false) if at < needed => break,
                Ok(false) => {}
                Err(violation) => return (harness.stats, Some(Failure { violation, steps: done })),
            }
        }
        if since >= STUCK_EVERY {
            since = 0;
            if let Err(violation) = nothing_is_stuck(&mut harness) {
                return (harness.stats, Some(Failure { violation, steps: done }));
            }
        }
    }
    let end = nothing_is_stuck(&mut harness).err();
    let failure = end.map(|violation| Failure { violation, steps: done });
    (harness.stats, failure)
}

/// Plays one scenario alone, without interruptions. A scenario that cannot begin does nothing.
pub fn play_alone(
    start: &Harness,
    seed: u64,
    scenario: fn(&mut Scene) -> Option<Scenario>,
) -> (Stats, Option<Failure>) {
    let mut harness = start.fork();
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
    let mut memory = Memory::default();
    let mut done = vec![];
    let begun = scenario(&mut Scene { a: &harness, r: &mut random, memory: &mut memory });
    memory.scenario = begun.unwrap_or_default();
    while let Some(stage) = memory.scenario.next_stage() {
        let Some(plan) = stage(&mut Scene { a: &harness, r: &mut random, memory: &mut memory }) else {
            break;
        };
        for step in plan {
            done.push(step);
            if let Err(violation) = harness.apply(done.last().expect("just pushed")) {
                return (harness.stats, Some(Failure { violation, steps: done }));
            }
        }
    }
    (harness.stats, None)
}

/// Plays a record. The first rule that breaks ends it; nothing is stuck afterwards.
pub fn replay(start: &Harness, steps: &[Step]) -> (Stats, Option<Failure>) {
    let (mut harness, failure) = replay_only(start, steps);
    if failure.is_some() {
        return (harness.stats, failure);
    }
    let end = nothing_is_stuck(&mut harness).err();
    let failure = end.map(|violation| Failure { violation, steps: steps.to_vec() });
    (harness.stats, failure)
}

/// The same without asking whether anything is stuck at the end.
pub fn replay_only(start: &Harness, steps: &[Step]) -> (Harness, Option<Failure>) {
    let mut harness = start.fork();
    for (at, step) in steps.iter().enumerate() {
        if let Err(violation) = harness.apply(step) {
            return (harness, Some(Failure { violation, steps: steps[..=at].to_vec() }));
        }
    }
    (harness, None)
}

/// What happens next, and how many steps at its beginning the rest needs.
fn next(harness: &Harness, random: &mut Random, memory: &mut Memory) -> (Vec<Step>, usize) {
    let mut s = Scene { a: harness, r: random, memory };
    if let Some(mut plan) = scenario::next(&mut s) {
        by_signers(harness, &mut plan);
        if s.once_in(8) {
            let at = s.below(plan.len());
            if let Some(Step::Send(instructions)) = plan.get_mut(at) {
                dress(&mut s, instructions);
            }
        }
        return (plan, 0);
    }
    match s.below(100) {
        0..=7 => {
            let seconds = [1, 1, 2, 5, 5, 10, 10, 20, 20, 30, 30, 60, 60, 60, 121, 601][s.below(16)];
            return (vec![Step::Warp(seconds)], 0);
        }
        8 => return (around(&mut s).into_iter().collect(), 0),
        // What was sent before is sent again.
        9 | 10 => {
            let sent = s.memory.sent.clone();
            let again = s.one(sent);
            return (again.map(Step::Send).into_iter().collect(), 0);
        }
        _ => {}
    }
    let total: u64 = ACTIONS.iter().map(|action| action.weight).sum();
    let mut at = s.r.below(total);
    let action = ACTIONS
        .iter()
        .find(|action| {
            let here = at < action.weight;
            at = at.saturating_sub(action.weight);
            here
        })
        .expect("weights add up");
    let Some(mut plan) = (action.plan)(&mut s) else { return (vec![], 0) };
    by_signers(harness, &mut plan);
    // Of a long plan most steps stay right, or its end would never be reached.
    let sends = plan.iter().filter(|step| step.instructions() > 0).count() as u64;
    for step in &mut plan {
        let Step::Send(instructions) = step else { continue };
        if sends <= 2 || s.once_in(sends) {
            dress(&mut s, instructions);
        }
    }
    let needed = match action.name {
        "order_create" | "order_award" | "auction_open" | "lease_migrate" | "prove_wrong_cell"
        | "prove_better_ask" | "output_commit" => plan.len(),
        "prove_omitted_bid" => BEFORE_PROOFS,
        _ => 0,
    };
    (plan, needed)
}

/// Generators have a keeper's wallet sign; where it has named another key, that one signs.
fn by_signers(harness: &Harness, plan: &mut [Step]) {
    for step in plan {
        let Step::Send(instructions) = step else { continue };
        for instruction in instructions.iter_mut().filter(|i| i.program_id == ID) {
            let run = name_of(&instruction.data).is_some_and(|name| BY_SIGNER.contains(&name));
            let Some(by) = instruction.accounts.first_mut().filter(|_| run) else { continue };
            if let Some((_, keeper)) = harness.ledger.all::<Keeper>().find(|(_, k)| k.wallet == by.pubkey) {
                by.pubkey = keeper.signer;
            }
        }
    }
}

/// Right as it is, spoiled, or with company.
fn dress(s: &mut Scene, instructions: &mut Vec<Instruction>) {
    match s.below(20) {
        0..=4 => spoil(s, instructions),
        5 => {
            let sent = s.memory.sent.clone();
            if let Some(other) = s.one(sent) {
                let first = s.once_in(2);
                if first {
                    instructions.splice(0..0, other);
                } else {
                    instructions.extend(other);
                }
                instructions.truncate(6);
            }
        }
        6 => {
            let again = instructions.clone();
            instructions.extend(again);
        }
        _ => {}
    }
}
