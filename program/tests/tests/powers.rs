//! docs/protocol/powers.md names real tests and leaves no instruction out.

use std::collections::BTreeSet;
use std::path::Path;

use gantry_market_tests::idl::Idl;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn document() -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol/powers.md"))
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_named_test_exists() {
    let document = document();
    let named: BTreeSet<(&str, &str)> =
        quoted(&document).into_iter().filter_map(|name| name.split_once("::")).collect();
    assert!(named.len() >= 40, "the table names its tests");
    for (file, name) in named {
        if file == "file" {
            continue;
        }
        let source = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{file}.rs")));
        assert!(source.contains(&format!("#[test]\nfn {name}()")), "tests/{file}.rs has no test {name}");
    }
}

#[test]
fn every_instruction_is_a_power_of_someone() {
    let document = document();
    let named: BTreeSet<&str> = quoted(&document).into_iter().collect();
    for shape in Idl::load().instructions {
        assert!(
            named.contains(shape.name.as_str()),
            "docs/protocol/powers.md does not say whose power {} is",
            shape.name
        );
    }
}
