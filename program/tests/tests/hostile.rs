//! Random hostile sequences, and what they need to stay honest.

use std::collections::BTreeSet;

use gantry_market_tests::hostile::actions::ACTIONS;
use gantry_market_tests::hostile::entity::known;
use gantry_market_tests::hostile::harness::{Harness, Stats};
use gantry_market_tests::hostile::hunt::{broken_by, traces};
use gantry_market_tests::hostile::run::{play, replay_only};
use gantry_market_tests::hostile::trace::Step;
use gantry_market_tests::idl::Idl;

/// Stories and steps in each; scripts/hostile.sh plays many more.
const SCENARIOS: u64 = 8;
const STEPS: usize = 1_500;

/// Instructions that need more luck than a short run has, or that never succeed while there is a market.
const RARE: [&str; 9] = [
    "prove_better_ask",
    "prove_omitted_bid",
    "emission_claim",
    "lease_migrate",
    "market_init",
    "market_apply_params",
    "credits_close",
    "provider_register",
    "provider_close",
];

/// Instructions that the random sequences do not send yet: their own tests and the substitution matrix cover them.
const UNSENT: [&str; 0] = [];
/// Account types that only those instructions make.
const UNRULED: [&str; 0] = [];

#[test]
fn every_instruction_has_a_generator() {
    let ours: BTreeSet<&str> = ACTIONS.iter().map(|action| action.name).collect();
    for shape in Idl::load().instructions {
        assert!(
            ours.contains(shape.name.as_str()) != UNSENT.contains(&shape.name.as_str()),
            "{}: random sequences never send it; add it to ACTIONS in src/hostile/actions/mod.rs",
            shape.name
        );
    }
}

#[test]
fn every_account_type_has_rules() {
    for (name, tag) in Idl::load().accounts {
        let ruled = known().iter().any(|known| *known == tag);
        assert!(
            ruled != UNRULED.contains(&name.as_str()),
            "{name}: add it to src/hostile/entity.rs and to the rules, or take it off the list of those that wait"
        );
    }
}

#[test]
fn no_hostile_sequence_breaks_a_rule() {
    let start = Harness::new(0);
    let mut stats = Stats::default();
    for seed in 0..SCENARIOS {
        let (found, failure) = play(&start, seed, STEPS);
        stats.add(&found);
        if let Some(failure) = failure {
            panic!(
                "seed {seed}, {} steps: {:?}; GANTRY_HOSTILE_SEED={seed} scripts/hostile.sh run shortens it",
                failure.steps.len(),
                failure.violation
            );
        }
    }
    println!("{} instructions, {} accepted, {} checks", stats.instructions, stats.accepted(), stats.checks);
    // A scenario in which nothing happens would prove nothing.
    let idle: Vec<&str> = ACTIONS
        .iter()
        .map(|action| action.name)
        .filter(|name| !RARE.contains(name) && !stats.successes.contains_key(name))
        .collect();
    assert!(idle.is_empty(), "never succeeded: {idle:?}");
}

#[test]
fn a_seed_gives_one_sequence() {
    let start = Harness::new(0);
    let ((one, _), (other, _)) = (play(&start, 5, 200), play(&start, 5, 200));
    assert_eq!(one.successes, other.successes);
    assert_eq!(one.errors, other.errors);
}

#[test]
fn traces_are_read_as_they_were_written() {
    for trace in traces() {
        for step in &trace.steps {
            assert_eq!(Step::from_json(&step.to_json()).as_ref(), Ok(step));
        }
    }
    for wrong in ["{}", r#"{"warp":"x"}"#, r#"{"send":[{}]}"#, r#"{"token":"x","trick":"freeze"}"#] {
        assert!(Step::from_json(&serde_json::from_str(wrong).expect("JSON")).is_err(), "{wrong}");
    }
}

/// What broke a rule once, by a mutant or an error since corrected, breaks none in the program as it is.
#[test]
fn no_trace_breaks_a_rule() {
    for trace in traces() {
        assert_eq!(broken_by(&trace, 0), None, "{}", trace.name);
    }
}

/// The clock's field that switches mutants on means nothing to the program as it is.
#[test]
fn no_mutant_is_in_the_program() {
    for trace in traces().iter().filter(|trace| trace.mutant != 0) {
        let (_, failure) = replay_only(&Harness::new(trace.mutant), &trace.steps);
        assert!(failure.is_none(), "{}: {:?}", trace.name, failure.map(|f| f.violation));
    }
}
