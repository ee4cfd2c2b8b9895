//! Drops mutants that do not compile, and draws others in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::weave::{culprit, Place};
use super::{copy, draw, sites, Drawn, List};

/// Writes a copy of the program with the first `count` mutants of the draw that compile to `dir`, and their list to `dir.json`.
/// `check` compiles the copy and writes its errors as cargo does with `--message-format=json`.
pub fn weave(dir: &Path, seed: u64, count: usize, check: &[String]) -> Result<(), String> {
    let sites = sites::all()?;
    let found = sites.len();
    Candidates { seed, sites: found, dropped: 0, drawn: draw(sites, seed) }.write(dir, count, check)
}

/// Writes the copy with the mutants of an earlier list, and their list. In the place of those that the program no longer has
/// come others of a new draw, with the next numbers.
pub fn weave_again(dir: &Path, list: &List, check: &[String]) -> Result<(), String> {
    let sites = sites::all()?;
    let found = sites.len();
    let mut drawn: Vec<Drawn> = list.entries.iter().filter_map(|entry| entry.among(&sites)).collect();
    for gone in list.entries.iter().filter(|entry| drawn.iter().all(|drawn| drawn.number != entry.number)) {
        eprintln!("mutant {} has no place any more: {}:{}", gone.number, gone.file, gone.line);
    }
    let next = list.entries.iter().map(|entry| entry.number).max().unwrap_or_default() + 1;
    let others =
        draw(sites, list.seed).into_iter().filter(|other| drawn.iter().all(|kept| kept.site != other.site));
    let others: Vec<Drawn> =
        others.zip(next..).map(|(other, number)| Drawn { number, site: other.site }).collect();
    drawn.extend(others);
    let dropped = list.dropped as usize;
    Candidates { seed: list.seed, sites: found, dropped, drawn }.write(dir, list.entries.len(), check)
}

/// Mutants in the order in which they are taken, of a number of sites. Some were dropped before.
struct Candidates {
    seed: u64,
    sites: usize,
    dropped: usize,
    drawn: Vec<Drawn>,
}

impl Candidates {
    /// The first `count` that compile.
    fn write(self, dir: &Path, count: usize, check: &[String]) -> Result<(), String> {
        let mut left = self.drawn.into_iter();
        let mut drawn: Vec<Drawn> = left.by_ref().take(count).collect();
        let mut dropped = self.dropped;
        loop {
            let places = copy::write(dir, &drawn)?;
            let wrong = wrong(&places, &errors(dir, check)?)?;
            eprintln!("{} mutants, {} of them do not compile", drawn.len(), wrong.len());
            if wrong.is_empty() {
                break;
            }
            drawn.retain(|drawn| !wrong.contains(&drawn.number));
            dropped += wrong.len();
            drawn.extend(left.by_ref().take(count - drawn.len()));
        }
        let list = List::to_json(self.seed, self.sites, dropped, &drawn);
        let text = serde_json::to_string_pretty(&list).map_err(|e| e.to_string())? + "\n";
        let path = dir.with_extension("json");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// The compiler's errors.
fn errors(dir: &Path, check: &[String]) -> Result<Vec<Value>, String> {
    let (program, arguments) = check.split_first().ok_or("no command checks the copy")?;
    let output = Command::new(program).args(arguments).current_dir(dir).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["reason"] == "compiler-message" && line["message"]["level"] == "error")
        .map(|line| line["message"].clone())
        .collect();
    if errors.is_empty() && !output.status.success() {
        return Err(format!("{program} fails and names no error"));
    }
    Ok(errors)
}

/// The numbers of the mutants that errors stand in.
fn wrong(places: &BTreeMap<String, Vec<Place>>, errors: &[Value]) -> Result<BTreeSet<u64>, String> {
    let mut wrong = BTreeSet::new();
    for error in errors {
        let mut spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
        // The last error counts the others.
        if spans.is_empty() {
            continue;
        }
        spans.sort_by_key(|span| span["is_primary"] != true);
        let found = spans.iter().find_map(|span| blamed(places, span));
        let rendered = error["rendered"].as_str().unwrap_or("an error without a text");
        wrong.insert(found.ok_or_else(|| format!("an error lies in no mutant:\n{rendered}"))?);
    }
    if wrong.is_empty() && !errors.is_empty() {
        return Err(format!("errors without a place: {errors:?}"));
    }
    Ok(wrong)
}

/// The mutant at a span, or where the macro is used that it comes from.
fn blamed(places: &BTreeMap<String, Vec<Place>>, span: &Value) -> Option<u64> {
    let mut span = span;
    while span.is_object() {
        let file = span["file_name"].as_str().and_then(|file| file.split_once("src/")).map(|(_, file)| file);
        let at = span["byte_start"].as_u64().and_then(|at| usize::try_from(at).ok());
        if let (Some(places), Some(at)) = (file.and_then(|file| places.get(file)), at) {
            if let Some(number) = culprit(places, at) {
                return Some(number);
            }
        }
        span = &span["expansion"]["span"];
    }
    None
}
