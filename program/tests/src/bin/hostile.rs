//! `hostile matrix`, `hostile run`, `hostile weave DIR`, `hostile mutants [--write]`, `hostile tested`,
//! `hostile random-mutants ...`: what scripts/hostile.sh calls.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gantry_market_tests::hostile::harness::{Harness, Stats};
use gantry_market_tests::hostile::hunt::{docs_path, hunt, regressions_dir, to_json, to_markdown};
use gantry_market_tests::hostile::owners::{Checked, RULES};
use gantry_market_tests::hostile::run::play;
use gantry_market_tests::hostile::shrink::shrink;
use gantry_market_tests::hostile::trace::Step;
use gantry_market_tests::{matrix, mutants, random_mutants};

/// A number from the environment.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let write = args.iter().any(|arg| arg == "--write");
    let sound = match args.first().map(String::as_str) {
        Some("matrix") => substitutions(),
        Some("run") => sequences(),
        Some("weave") if args.len() == 2 => weave(&args[1]),
        Some("tested") => tested(),
        Some("mutants") => hunt_mutants(write),
        Some("random-mutants") => succeeds(random_mutants::command::run(&args[1..], &chosen())),
        _ => {
            eprintln!("usage: hostile matrix|run|weave DIR|mutants [--write]|tested|random-mutants");
            std::process::exit(2);
        }
    };
    if !sound {
        std::process::exit(1);
    }
}

fn substitutions() -> bool {
    let outcome = matrix::run();
    println!("{}", outcome.summary());
    for open in outcome.unexplained() {
        println!("  {open}");
    }
    outcome.unexplained().is_empty()
}

/// The rule by owner that GANTRY_HOSTILE_RULE names alone, where an instruction breaks it that GANTRY_HOSTILE_BY names;
/// or all that have landed.
fn asked() -> Checked {
    let Ok(name) = std::env::var("GANTRY_HOSTILE_RULE") else { return Checked::default() };
    let rule = RULES.into_iter().find(|rule| *rule == name);
    let rule = rule.unwrap_or_else(|| panic!("no rule by owner is named {name}; there are {RULES:?}"));
    Checked::Only(rule, std::env::var("GANTRY_HOSTILE_BY").unwrap_or_default().leak())
}

/// Stories until enough instructions have run.
fn sequences() -> bool {
    let wanted = number("GANTRY_HOSTILE_INSTRUCTIONS", 50_000);
    let steps = number("GANTRY_HOSTILE_STEPS", 2_000) as usize;
    let first = number("GANTRY_HOSTILE_SEED", 1);
    let (mut start, begin) = (Harness::new(0), Instant::now());
    start.books.checked = asked();
    let (mut stats, mut seed) = (Stats::default(), first);
    while stats.instructions < wanted {
        let (found, failure) = play(&start, seed, steps);
        stats.add(&found);
        if let Some(failure) = failure {
            println!("seed {seed} broke a rule after {} steps: {:?}", failure.steps.len(), failure.violation);
            let short: Vec<_> = shrink(&start, &failure).iter().map(Step::to_json).collect();
            let record = serde_json::json!({ "mutant": 0, "rule": failure.violation.rule, "steps": short });
            println!("as a regression:\n{record}");
            return false;
        }
        seed += 1;
        if (seed - first).is_multiple_of(20) {
            println!("{} sequences, {} instructions", seed - first, stats.instructions);
        }
    }
    report(&stats, seed - first, begin);
    true
}

fn report(stats: &Stats, sequences: u64, begin: Instant) {
    let seconds = begin.elapsed().as_secs_f64();
    println!("instructions that succeeded and were refused, by name:");
    let names: std::collections::BTreeSet<_> = stats.successes.keys().chain(stats.refusals.keys()).collect();
    for name in names {
        let count =
            |map: &std::collections::BTreeMap<&'static str, u64>| map.get(*name).copied().unwrap_or(0);
        println!("  {name:<26} {:>9} {:>9}", count(&stats.successes), count(&stats.refusals));
    }
    let explained = std::env::var("GANTRY_HOSTILE_ERRORS").unwrap_or_default();
    for ((name, error), count) in &stats.errors {
        if !stats.successes.contains_key(name) || explained.split(',').any(|wanted| wanted == *name) {
            println!("  {name} refused: {error}, {count} times");
        }
    }
    println!(
        "hostile harness: {sequences} sequences, {} transactions, {} instructions ({} accepted), {} different refusals, \
         all invariants checked {} times, 0 broken; {:.0} instructions a second",
        stats.transactions,
        stats.instructions,
        stats.accepted(),
        stats.errors.len(),
        stats.checks,
        stats.instructions as f64 / seconds
    );
}

/// Writes the copy of the program that has all mutants.
fn weave(dir: &str) -> bool {
    succeeds(mutants::write_copy(Path::new(dir)))
}

/// Whether it did, with the cause where it did not.
fn succeeds(result: Result<(), String>) -> bool {
    if let Err(cause) = &result {
        eprintln!("hostile: {cause}");
    }
    result.is_ok()
}

/// The numbers that GANTRY_HOSTILE_MUTANTS names; none for all.
fn chosen() -> Vec<u64> {
    let chosen = std::env::var("GANTRY_HOSTILE_MUTANTS").unwrap_or_default();
    chosen.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

/// Lists the chosen mutants that a test is to find, each with its test.
fn tested() -> bool {
    let chosen = chosen();
    for mutant in mutants::all().iter().filter(|m| chosen.is_empty() || chosen.contains(&m.number)) {
        if let Some(test) = &mutant.test {
            println!("{} {test}", mutant.number);
        }
    }
    true
}

fn hunt_mutants(write: bool) -> bool {
    let seeds = number("GANTRY_HOSTILE_SEEDS", 3);
    let most = number("GANTRY_HOSTILE_STEPS", 200_000) as usize;
    let chosen = chosen();
    let all = mutants::all();
    let wanted: Vec<&mutants::Mutant> = all
        .iter()
        .filter(|mutant| mutant.test.is_none() && (chosen.is_empty() || chosen.contains(&mutant.number)))
        .collect();
    let finds = on_every_core(&wanted, |mutant| {
        let find = hunt(mutant.number, seeds, most);
        println!(
            "mutant {:>2}: {:?} steps, {}: {}",
            mutant.number, find.steps, find.rule, mutant.description
        );
        if let Some(trace) = find.kept().filter(|_| write) {
            std::fs::create_dir_all(regressions_dir()).expect("folder is made");
            let text = serde_json::to_string(&to_json(&find, trace)).expect("serialises");
            std::fs::write(regressions_dir().join(format!("mutant-{:02}.json", mutant.number)), text + "\n")
                .expect("written");
        }
        find
    });
    if write {
        let known = std::fs::read_to_string(docs_path()).unwrap_or_default();
        std::fs::write(docs_path(), to_markdown(&all, &finds, &known)).expect("the document is written");
    }
    let found = finds.iter().filter(|find| find.found()).count();
    println!("mutants: {found} of {} found by every one of {seeds} seeds", finds.len());
    found == finds.len()
}

/// Does the work of every item, as many at a time as there are cores. The results are in the order of the items.
fn on_every_core<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (done, results) = std::sync::mpsc::channel();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index) else { break };
                done.send((index, work(item))).expect("the results are awaited");
            });
        }
    });
    drop(done);
    let mut results: Vec<(usize, R)> = results.iter().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
