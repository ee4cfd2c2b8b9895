//! The hunt: random sequences against a program with one mutant switched on. The rules must find every mutant.
//!
//! `scripts/hostile.sh mutants` builds the copy of the program that has them and runs this.

use std::path::PathBuf;

use serde_json::{json, Value};

use super::harness::Harness;
use super::run::{play, replay, Failure};
use super::shrink::shrink;
use super::trace::Step;
use crate::mutants::Mutant;

/// Steps of one sequence at most: the longer it is, the fewer of its machines and keepers are still in business.
const SEQUENCE: usize = 2_500;

/// Steps of a committed trace at most.
const LONGEST_TRACE: usize = 100;

/// How a mutant was found.
pub struct Find {
    pub mutant: u64,
    /// Steps that each seed took, in the order of the seeds; none where the mutant was not found.
    pub steps: Vec<Option<usize>>,
    /// The rule that the shortest find broke.
    pub rule: &'static str,
    /// The shortest find, shortened further.
    pub trace: Vec<Step>,
}

impl Find {
    pub fn found(&self) -> bool {
        self.steps.iter().all(Option::is_some)
    }

    /// The trace, where it is short enough to be committed.
    pub fn kept(&self) -> Option<&[Step]> {
        (1..=LONGEST_TRACE).contains(&self.trace.len()).then_some(&self.trace[..])
    }

    /// Steps of the median seed among those that found the mutant.
    pub fn median(&self) -> Option<usize> {
        let mut steps: Vec<usize> = self.steps.iter().copied().flatten().collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }
}

/// Plays sequences with one mutant switched on: for each seed one after the other, until one finds the mutant or `most`
/// steps are done.
pub fn hunt(mutant: u64, seeds: u64, most: usize) -> Find {
    let start = Harness::new(mutant);
    let mut find = Find { mutant, steps: vec![], rule: "", trace: vec![] };
    let mut shortest: Option<Failure> = None;
    for seed in 0..seeds {
        let mut done = 0;
        let mut failure = None;
        for sequence in 0.. {
            let steps = SEQUENCE.min(most - done);
            if steps == 0 || failure.is_some() {
                break;
            }
            failure = play(&start, 1_000 + seed + 1_000_000 * sequence, steps).1;
            done += failure.as_ref().map_or(steps, |failure| failure.steps.len());
        }
        find.steps.push(failure.as_ref().map(|_| done));
        let Some(failure) = failure else { continue };
        if shortest.as_ref().is_none_or(|known| failure.steps.len() < known.steps.len()) {
            shortest = Some(failure);
        }
    }
    if let Some(failure) = shortest {
        find.rule = failure.violation.rule;
        find.trace = shrink(&start, &failure);
    }
    find
}

/// A mutant's line in docs/reports/mutants.md, after its number and description.
fn line(find: &Find) -> String {
    let found = find.steps.iter().flatten().count();
    let steps = find.median().map_or("–".to_owned(), |steps| steps.to_string());
    let rule = if find.rule.is_empty() { "–" } else { find.rule };
    let left = if find.trace.is_empty() { "–".to_owned() } else { find.trace.len().to_string() };
    format!("{found} of {} | {steps} | {rule} | {left} |", find.steps.len())
}

/// docs/reports/mutants.md. Mutants that were not hunted keep the line that they have in `known`, the document as it
/// is.
pub fn to_markdown(mutants: &[Mutant], finds: &[Find], known: &str) -> String {
    let mut out = "# Mutants\n\n\
                   `scripts/hostile.sh mutants --write` writes this page. A mutant is a deliberate error of program/tests/mutants. The hunt\n\
                   builds all mutants into a copy of the program and switches them on one at a time. The random sequences must find each\n\
                   mutant from every seed. \"Steps\" is the median number of steps over the seeds that found the mutant. \"Shortened to\" is\n\
                   the number of steps that are left when the hunt shortens the shortest sequence that found it. The folder\n\
                   program/tests/regressions has these sequences unless they are long. The program's own sources and binary contain no\n\
                   mutant.\n\n\
                   | mutant | what it is | found by seeds | steps | the rule that broke | shortened to |\n| ---: \
                   | --- | ---: | ---: | --- | ---: |\n"
        .to_owned();
    let (mut by_all, mut by_some) = (0, 0);
    let (tested, hunted): (Vec<_>, Vec<_>) = mutants.iter().partition(|mutant| mutant.test.is_some());
    for Mutant { number, description, .. } in &hunted {
        let start = format!("| {number} | {description} | ");
        // A mutant that a test was to find has its line in the other table, with the test's name in it.
        let kept = known.lines().find_map(|line| line.strip_prefix(&start));
        let kept = kept.filter(|line| !line.starts_with('`')).map(str::to_owned);
        let hunted = finds.iter().find(|find| find.mutant == *number).map(line);
        let rest = hunted.or(kept).unwrap_or("not hunted | – | – | – |".to_owned());
        let mut count = rest.split_whitespace();
        match (count.next(), count.next(), count.next()) {
            (Some(found), Some("of"), Some(seeds)) if found == seeds => by_all += 1,
            (Some(found), Some("of"), _) if found != "0" => by_some += 1,
            _ => {}
        }
        out.push_str(&format!("{start}{rest}\n"));
    }
    out.push_str(&format!(
        "\nFound from every seed: {by_all} of {}; from some seeds: {by_some} more. The program itself breaks no rule.\n",
        hunted.len()
    ));
    out.push_str(TESTED);
    for Mutant { number, description, test, .. } in tested {
        let test = test.as_deref().unwrap_or_default();
        let (test, of) =
            test.split_once(' ').map_or((test, String::new()), |(test, of)| (test, format!(", `{of}`")));
        out.push_str(&format!("| {number} | {description} | `{test}`{of} |\n"));
    }
    out
}

const TESTED: &str = "
## Found by a test

Random sequences meet these too seldom, or not at all. `scripts/hostile.sh mutants` runs the named test with the mutant on, \
which must fail. The test of the matrix runs for the named instruction alone.

| mutant | what it is | test |
| ---: | --- | --- |
";

/// Where the document is.
pub fn docs_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports/mutants.md")
}

/// Where the traces of finds are.
pub fn regressions_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

/// A committed trace: the steps, and the rule that broke when it was made.
pub struct Trace {
    pub name: String,
    /// The mutant that it shows; 0 for an error of the program itself that was corrected since.
    pub mutant: u64,
    pub rule: String,
    pub steps: Vec<Step>,
}

pub fn to_json(find: &Find, trace: &[Step]) -> Value {
    let steps: Vec<Value> = trace.iter().map(Step::to_json).collect();
    json!({ "mutant": find.mutant, "rule": find.rule, "steps": steps })
}

/// Every committed trace, by name. Panics on one that cannot be read.
pub fn traces() -> Vec<Trace> {
    let dir = regressions_dir();
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut found: Vec<Trace> = entries
        .map(|entry| entry.expect("entry is readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let root: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let steps = root["steps"].as_array().expect("steps are a list");
            Trace {
                name: path.file_stem().expect("has a name").to_string_lossy().into_owned(),
                mutant: root["mutant"].as_u64().expect("a mutant's number"),
                rule: root["rule"].as_str().expect("a rule's name").to_owned(),
                steps: steps.iter().map(|step| Step::from_json(step).expect("a step")).collect(),
            }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The rule that a trace breaks with this mutant switched on (0 for none).
pub fn broken_by(trace: &Trace, mutant: u64) -> Option<String> {
    let (_, failure) = replay(&Harness::new(mutant), &trace.steps);
    failure.map(|failure| failure.violation.rule.to_owned())
}
