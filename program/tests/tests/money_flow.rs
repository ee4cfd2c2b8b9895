//! docs/protocol/money-flow.md names functions that exist and leaves no instruction out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gantry_market_tests::idl::Idl;

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn page() -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol/money-flow.md"))
}

/// Words of letters, digits, underscores and colons, as names of functions are.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':')
        .map(|word| word.trim_matches(':'))
        .collect()
}

/// All sources below a folder, in one text.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("entry is readable").path();
        text += &if path.is_dir() { sources(&path) } else { read(&path) };
    }
    text
}

/// All files of that name below a folder, in one text.
fn named(folder: &Path, name: &str) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("entry is readable").path();
        if path.is_dir() {
            text += &named(&path, name);
        } else if path.ends_with(name) {
            text += &read(&path);
        }
    }
    text
}

#[test]
fn every_function_on_the_page_exists() {
    let (page, all) = (page(), sources(&program()));
    let functions: Vec<(&str, &str)> = words(&page)
        .into_iter()
        .filter_map(|word| word.split_once("::"))
        .filter(|(at, _)| *at != "x")
        .collect();
    assert!(functions.len() >= 40, "the page names its functions, {} of them", functions.len());
    for (at, name) in functions {
        let file = named(&program(), &format!("{at}.rs"));
        let source = if file.is_empty() { &all } else { &file };
        let there = [format!("fn {name}("), format!("fn {name}<"), format!("pub {name}: ")];
        assert!(
            there.iter().any(|text| source.contains(text)),
            "docs/protocol/money-flow.md names {at}::{name}"
        );
    }
}

#[test]
fn no_instruction_is_left_out() {
    let page = page();
    let named: BTreeSet<&str> = words(&page).into_iter().flat_map(|word| word.split("::")).collect();
    for shape in Idl::load().instructions {
        assert!(
            named.contains(shape.name.as_str()),
            "docs/protocol/money-flow.md does not name {}",
            shape.name
        );
    }
}
