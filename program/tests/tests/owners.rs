//! What an owner of several wallets tried and gained once, and the rules by owner that say that it gains nothing.

use std::collections::BTreeSet;

use gantry_market_tests::hostile::actions::scenarios::cheats;
use gantry_market_tests::hostile::harness::{Harness, KEEPERS};
use gantry_market_tests::hostile::owners::{
    Checked, ACCEPTED, HALF, HARM, ORDER, OWN, OWNERS, RULES, TERMS, TIME, WAITING,
};
use gantry_market_tests::hostile::run::play_alone;
use gantry_market_tests::hostile::scenario::Scenario;
use gantry_market_tests::hostile::scene::Scene;

/// Seeds from which each scenario is played.
const SEEDS: u64 = 12;

/// A finding of docs/findings.md, the scenario that shows it, the rules that it broke, and an instruction without whose
/// success the scenario would show nothing.
type Finding = (&'static str, fn(&mut Scene) -> Option<Scenario>, &'static [&'static str], &'static str);

const FINDINGS: [Finding; 5] = [
    ("C1", cheats::carried_out, &[HALF, OWN, HARM], "prove_better_ask"),
    ("C2, C3", cheats::shared, &[OWN, ORDER], "slash_apply"),
    ("C4, a reveal withheld", cheats::withheld, &[ACCEPTED], "output_reveal"),
    ("C4, an order reopened", cheats::reopened, &[TIME], "lease_abort"),
    ("C5, a change of parameters", cheats::retold, &[TERMS], "market_apply_params"),
];

#[test]
fn hostile_owners_gain_nothing_by_what_was_found() {
    for (finding, scenario, rules, needed) in FINDINGS {
        let mut played = 0;
        for rule in rules {
            if WAITING.iter().any(|(waits, _)| waits == rule) {
                println!("{finding}: the rule \"{rule}\" waits for its mend");
                continue;
            }
            let mut start = Harness::new(0);
            start.books.checked = Checked::Only(rule, "");
            for seed in 0..SEEDS {
                let (stats, failure) = play_alone(&start, seed, scenario);
                played += stats.successes.get(needed).copied().unwrap_or(0);
                assert!(
                    failure.is_none(),
                    "{finding}, seed {seed}: {:?}",
                    failure.map(|failure| failure.violation)
                );
            }
            assert!(played > 0, "{finding}: no {needed} succeeded");
        }
    }
}

/// Only rules that are there wait, each once.
#[test]
fn hostile_rules_that_wait_are_rules() {
    let waiting: BTreeSet<&str> = WAITING.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(waiting.len(), WAITING.len(), "a rule waits once");
    assert!(waiting.iter().all(|rule| RULES.contains(rule)), "{waiting:?}");
}

/// Every wallet has one owner; the first two owners play several parts, and neither can carry a vote against the rest.
#[test]
fn hostile_wallets_have_one_owner() {
    let all: Vec<usize> = OWNERS.iter().flat_map(|owner| owner.iter().copied()).collect();
    let different: BTreeSet<usize> = all.iter().copied().collect();
    assert_eq!((all.len(), different.len()), (10, 10));
    let weights = [4, 3, 3, 1];
    for owner in &OWNERS[..2] {
        let own = KEEPERS.iter().zip(weights).filter(|(at, _)| owner.contains(at)).map(|(_, w)| w);
        assert!(own.sum::<u32>() * 3 < weights.iter().sum::<u32>());
    }
}
