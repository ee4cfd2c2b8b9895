//! Every error that the program can return has a test that expects it, instruction by instruction.
//!
//! `refused` compares exact codes, so a test that names an error and passes has seen it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Errors that no code returns: kept for their numbers.
const UNUSED: [&str; 2] = ["TooManyCandidates", "WrongPeriod"];

/// Errors that guard against what the code around them already excludes: no call can reach them.
const UNREACHABLE: [(&str, &str, &str); 0] = [];

/// Code that several instructions share, and the tests in which its errors must appear.
const SHARED: [(&str, &[&str]); 8] = [
    ("award", &["order_award"]),
    ("bad_work", &["prove_wrong_cell"]),
    ("claims", &["node_register", "node_set_evidence"]),
    ("leaf", &["report_apply"]),
    ("lease_settle", &["lease_settle_receipt", "lease_settle_report"]),
    ("mod", &[]),
    ("unstarted", &["lease_abort", "lease_decline"]),
    ("unjust", &["prove_better_ask", "prove_omitted_bid"]),
];

fn crate_dir(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(part)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Names that follow `MarketError::` in a source text.
fn named(source: &str) -> BTreeSet<String> {
    source
        .split("MarketError::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

/// (file name without ending, text) of every Rust file in a folder and below it.
fn sources(dir: &Path) -> Vec<(String, String)> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("entry is readable").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push((path.file_stem().expect("has a name").to_string_lossy().into_owned(), text(&path)));
        }
    }
    found.sort();
    found
}

fn tests() -> Vec<(String, String)> {
    let own = ["coverage", "errors", "all"];
    sources(&crate_dir("tests")).into_iter().filter(|(name, _)| !own.contains(&name.as_str())).collect()
}

/// Every variant of the error enum, by its source.
fn variants() -> BTreeSet<String> {
    text(&crate_dir("../src/errors.rs"))
        .lines()
        .filter_map(|line| line.trim().split_once(", // 6"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn every_error_is_expected_by_a_test() {
    let all = variants();
    assert!(all.len() >= 60, "the list of errors was not found");
    let mut seen = BTreeSet::new();
    for (_, source) in tests() {
        seen.extend(named(&source));
    }
    let missing: Vec<_> =
        all.iter().filter(|e| !seen.contains(*e) && !UNUSED.contains(&e.as_str())).collect();
    assert!(missing.is_empty(), "no test expects {missing:?}");
    for name in UNUSED {
        assert!(all.contains(name) && !seen.contains(name), "{name} is in use: remove it from the list");
    }
}

#[test]
fn every_instruction_is_tested_for_every_error_it_names() {
    let tests = tests();
    let expected_by = |name: &str| -> BTreeSet<String> {
        tests
            .iter()
            .find(|(test, _)| test == name)
            .map(|(_, source)| named(source))
            .unwrap_or_else(|| panic!("tests/{name}.rs is missing"))
    };
    let mut missing = vec![];
    for (instruction, source) in sources(&crate_dir("../src/instructions")) {
        let homes: Vec<&str> = match SHARED.iter().find(|(shared, _)| *shared == instruction) {
            Some((_, homes)) => homes.to_vec(),
            None => vec![instruction.as_str()],
        };
        for home in homes {
            let expected = expected_by(home);
            for error in named(&source) {
                let excused = UNREACHABLE.iter().any(|(i, e, _)| *i == instruction && *e == error);
                if !excused && !expected.contains(&error) {
                    missing.push(format!("{home}: {error}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no test expects {missing:#?}");
}

#[test]
fn every_instruction_is_tried_without_signature_with_foreign_accounts_and_another_token_program() {
    let instructions: BTreeMap<_, _> = sources(&crate_dir("../src/instructions")).into_iter().collect();
    for (name, source) in tests() {
        let Some(instruction) = instructions.get(&name) else { continue };
        if instruction.contains("fn handler(") {
            assert!(source.contains("IllegalOwner"), "{name}: no account of another program is tried");
        }
        if instruction.contains(": Signer") {
            assert!(source.contains("MissingRequiredSignature"), "{name}: no test leaves the signature out");
        }
        if instruction.contains("Program<Token>") {
            assert!(source.contains("token_2022_program"), "{name}: no other token program is tried");
        }
    }
}
