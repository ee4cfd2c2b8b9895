//! Random mutants: errors of usual kinds at places that a seed draws from all of the program's, tried against the tests of
//! this crate. `scripts/hostile.sh random-mutants` runs them; program/tests/mutants/README.md says how.

mod attributes;
pub mod check;
pub mod command;
mod copy;
mod operators;
pub mod report;
pub mod sites;
pub mod suite;
pub mod trial;
pub mod weave;

use std::ops::Range;
use std::path::Path;

use serde_json::{json, Value};

use crate::random::Random;

/// How a site's text is replaced while its mutant is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An expression: another one stands in its place.
    Expression,
    /// A function's body: the function returns the replacement.
    Body,
    /// A statement: it is left out.
    Statement,
}

/// A place of the sources and an error that can be made there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Relative to program/src.
    pub file: String,
    pub function: String,
    pub line: usize,
    /// What kind of error it is.
    pub operator: &'static str,
    pub form: Form,
    /// Where the replaced text stands in the file.
    pub span: Range<usize>,
    pub original: String,
    pub replacement: String,
}

/// A site with the number that switches it on: its place in the draw, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub number: u64,
    pub site: Site,
}

/// All sites in the order of a draw without repeats.
pub fn draw(mut sites: Vec<Site>, seed: u64) -> Vec<Drawn> {
    let mut random = Random::new(seed);
    for left in (1..sites.len()).rev() {
        sites.swap(left, random.below(left as u64 + 1) as usize);
    }
    sites.into_iter().zip(1..).map(|(site, number)| Drawn { number, site }).collect()
}

/// What the trials and the report need to know of a mutant.
#[derive(Clone, Debug)]
pub struct Entry {
    pub number: u64,
    pub file: String,
    pub function: String,
    pub line: u64,
    pub operator: String,
    pub original: String,
    pub replacement: String,
}

impl Entry {
    /// The same mutant among the sites of a program that has changed: the nearest one, where several read alike.
    pub fn among(&self, sites: &[Site]) -> Option<Drawn> {
        let alike = sites.iter().filter(|site| {
            (&site.file, &site.function, site.operator)
                == (&self.file, &self.function, self.operator.as_str())
                && squeezed(&site.original) == self.original
                && squeezed(&site.replacement) == self.replacement
        });
        let site = alike.min_by_key(|site| self.line.abs_diff(site.line as u64))?.clone();
        Some(Drawn { number: self.number, site })
    }
}

/// The mutants of a run, in the file next to the copy of the program.
pub struct List {
    pub seed: u64,
    /// Sites that there are.
    pub sites: u64,
    /// Numbers of mutants that do not compile.
    pub dropped: u64,
    pub entries: Vec<Entry>,
}

impl List {
    pub fn to_json(seed: u64, sites: usize, dropped: usize, drawn: &[Drawn]) -> Value {
        let mutants: Vec<Value> = drawn
            .iter()
            .map(|Drawn { number, site }| {
                json!({
                    "number": number, "file": site.file, "function": site.function, "line": site.line,
                    "operator": site.operator, "original": squeezed(&site.original),
                    "replacement": squeezed(&site.replacement),
                })
            })
            .collect();
        json!({ "seed": seed, "sites": sites, "dropped": dropped, "mutants": mutants })
    }

    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let root: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let number = |value: &Value, field: &str| value[field].as_u64().ok_or(format!("no number {field}"));
        let text = |value: &Value, field: &str| match value[field].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("no text {field}")),
        };
        let entries = root["mutants"].as_array().ok_or("no mutants")?.iter().map(|entry| {
            Ok(Entry {
                number: number(entry, "number")?,
                file: text(entry, "file")?,
                function: text(entry, "function")?,
                line: number(entry, "line")?,
                operator: text(entry, "operator")?,
                original: text(entry, "original")?,
                replacement: text(entry, "replacement")?,
            })
        });
        Ok(Self {
            seed: number(&root, "seed")?,
            sites: number(&root, "sites")?,
            dropped: number(&root, "dropped")?,
            entries: entries.collect::<Result<_, String>>()?,
        })
    }
}

/// Text on one line.
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
