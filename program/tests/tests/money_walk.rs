//! docs/money-walk.md names functions that exist and leaves no instruction out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gantry_market_tests::idl::Idl;

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn walk() -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/money-walk.md"))
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

#[test]
fn every_function_of_the_walk_exists() {
    let (walk, all) = (walk(), sources(&program()));
    let named: Vec<(&str, &str)> = words(&walk)
        .into_iter()
        .filter_map(|word| word.split_once("::"))
        .filter(|(at, _)| *at != "x")
        .collect();
    assert!(named.len() >= 40, "the walk names its functions, {} of them", named.len());
    for (at, name) in named {
        let place = ["instructions", "."].map(|folder| program().join(folder).join(format!("{at}.rs")));
        let source = match place.iter().find(|path| path.exists()) {
            Some(path) => read(path),
            None => all.clone(),
        };
        let there = [format!("fn {name}("), format!("fn {name}<"), format!("pub {name}: ")];
        assert!(there.iter().any(|text| source.contains(text)), "docs/money-walk.md names {at}::{name}");
    }
}

#[test]
fn no_instruction_is_left_out() {
    let walk = walk();
    let named: BTreeSet<&str> = words(&walk).into_iter().flat_map(|word| word.split("::")).collect();
    for shape in Idl::load().instructions {
        assert!(named.contains(shape.name.as_str()), "docs/money-walk.md does not name {}", shape.name);
    }
}
