//! Tries each mutant against the tests: those of its own instruction first, then all, then random sequences.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{json, Value};

use super::suite::{Outcome, Suite, Which};
use super::{Entry, List};
use crate::idl::Idl;

/// All tests on a program without errors take a minute or two.
const LIMIT: Duration = Duration::from_secs(400);

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Which tests found it.
    pub stage: Stage,
    /// The first test that failed, or the rule that was broken.
    pub by: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Own,
    All,
    Sequences,
    Survived,
}

impl Stage {
    const ALL: [(Self, &str); 4] = [
        (Self::Own, "own tests"),
        (Self::All, "all tests"),
        (Self::Sequences, "random sequences"),
        (Self::Survived, "survived"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(stage, _)| *stage == self).map_or("", |(_, name)| name)
    }

    fn read(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(stage, _)| *stage)
    }
}

/// A file of results, a line of JSON for each: a stopped run continues after the last line.
#[derive(Default)]
pub struct Results {
    /// Tests that fail with no mutant on, by the switches alone.
    pub unsuitable: Option<Vec<String>>,
    pub tried: BTreeMap<u64, Tried>,
}

impl Results {
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut results = Self::default();
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(results) };
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).map_err(|e| format!("{}: {e}", path.display()))?;
            if let Some(names) = line["unsuitable"].as_array() {
                results.unsuitable =
                    Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
                continue;
            }
            let (number, by) = (line["number"].as_u64(), line["by"].as_str());
            let stage = line["stage"].as_str().and_then(Stage::read);
            let (Some(number), Some(by), Some(stage)) = (number, by, stage) else {
                return Err(format!("{}: no result: {line}", path.display()));
            };
            results.tried.insert(number, Tried { stage, by: by.to_owned() });
        }
        Ok(results)
    }
}

fn append(path: &Path, line: &Value) -> Result<(), String> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).map_err(|e| format!("{}: {e}", path.display()))
}

/// Tries the mutants that have no result, and those that `again` names. `hostile` plays the sequences.
pub fn try_all(list: &List, suite: &Suite, hostile: &Path, path: &Path, again: &[u64]) -> Result<(), String> {
    let known = Results::read(path)?;
    let modules = suite.modules()?;
    let unsuitable = match known.unsuitable {
        Some(names) => names,
        None => unsuitable(suite, path)?,
    };
    let trial = Trial { suite, hostile, modules, unsuitable };
    for entry in &list.entries {
        let wanted = if again.is_empty() {
            !known.tried.contains_key(&entry.number)
        } else {
            again.contains(&entry.number)
        };
        if !wanted {
            continue;
        }
        let begin = Instant::now();
        let Tried { stage, by } = trial.of(entry)?;
        let seconds = begin.elapsed().as_secs();
        let place = format!("{}:{}", entry.file, entry.line);
        println!(
            "mutant {} {place} {} -> {}: {} {by} ({seconds} s)",
            entry.number,
            entry.original,
            entry.replacement,
            stage.name()
        );
        append(
            path,
            &json!({ "number": entry.number, "stage": stage.name(), "by": by, "seconds": seconds }),
        )?;
    }
    Ok(())
}

/// Runs all tests with no mutant on. Those that fail measure what the switches cost.
fn unsuitable(suite: &Suite, path: &Path) -> Result<Vec<String>, String> {
    let names = match suite.run(0, Which::default(), LIMIT)? {
        Outcome::Passed => vec![],
        Outcome::Failed(names) => names,
        Outcome::Lost(cause) => return Err(format!("with no mutant on: {cause}")),
    };
    println!("{} tests fail by the switches alone: {}", names.len(), names.join(", "));
    append(path, &json!({ "unsuitable": names }))?;
    Ok(names)
}

struct Trial<'a> {
    suite: &'a Suite,
    hostile: &'a Path,
    modules: Vec<String>,
    unsuitable: Vec<String>,
}

impl Trial<'_> {
    fn of(&self, entry: &Entry) -> Result<Tried, String> {
        let own = own_tests(&entry.file, &self.modules);
        let all = Which { of: &[], skipped: &self.unsuitable, until_failure: true };
        if !own.is_empty() {
            let outcome = self.suite.run(entry.number, Which { of: &own, ..all }, LIMIT)?;
            if let Some(by) = found(outcome) {
                return Ok(Tried { stage: Stage::Own, by });
            }
        }
        if let Some(by) = self.matrix(entry, &own)? {
            return Ok(Tried { stage: Stage::Own, by });
        }
        if let Some(by) = found(self.suite.run(entry.number, all, LIMIT)?) {
            return Ok(Tried { stage: Stage::All, by });
        }
        if let Some(by) = found(self.suite.sequences(self.hostile, entry.number, LIMIT)?) {
            return Ok(Tried { stage: Stage::Sequences, by });
        }
        Ok(Tried { stage: Stage::Survived, by: String::new() })
    }

    /// The matrix of the mutant's instruction, where it passes with no mutant on.
    fn matrix(&self, entry: &Entry, own: &[String]) -> Result<Option<String>, String> {
        let [own] = own else { return Ok(None) };
        let instruction = own.trim_end_matches("::");
        let idl = Idl::load();
        if !idl.instructions.iter().any(|shape| shape.name == instruction) {
            return Ok(None);
        }
        let by = found(self.suite.matrix(entry.number, instruction, LIMIT)?);
        if by.is_some() && self.suite.matrix(0, instruction, LIMIT)? != Outcome::Passed {
            return Ok(None);
        }
        Ok(by)
    }
}

fn found(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Passed => None,
        Outcome::Failed(names) => Some(names.into_iter().next().unwrap_or_default()),
        Outcome::Lost(cause) => Some(cause.to_owned()),
    }
}

/// The tests of an instruction's file: modules of its name, or that begin with it.
pub fn own_tests(file: &str, modules: &[String]) -> Vec<String> {
    let Some((_, name)) = file.strip_prefix("instructions/").and_then(|file| file.rsplit_once('/')) else {
        return vec![];
    };
    let name = name.trim_end_matches(".rs");
    let longer = format!("{name}_");
    let of = modules.iter().filter(|module| *module == name || module.starts_with(&longer));
    of.map(|module| format!("{module}::")).collect()
}
