//! Figures that are committed: compute units, size and rent.

use std::fs;

use gantry_market_tests::bench::{docs_path, measure, results_path, Figures};
use gantry_market_tests::ix;

/// Shares of a figure by which it may differ from the committed one, in percent.
const TOLERANCE: u64 = 2;

fn differs(committed: u64, measured: u64) -> bool {
    committed.abs_diff(measured) * 100 > committed * TOLERANCE
}

#[test]
fn figures_are_the_committed_ones() {
    let measured = measure();
    for (_, name) in ix::all_names() {
        assert!(measured.compute_units.contains_key(name), "{name} is not measured");
    }
    println!("{}", measured.to_markdown());
    if std::env::var_os("GANTRY_WRITE_BENCH").is_some_and(|v| v == "1") {
        let path = results_path();
        fs::create_dir_all(path.parent().expect("has a folder")).expect("folder is made");
        let text = serde_json::to_string_pretty(&measured.to_json()).expect("serialises");
        fs::write(&path, text + "\n").expect("figures are written");
        fs::write(docs_path(), measured.to_markdown()).expect("the document is written");
        return;
    }
    let committed = committed();
    let mut wrong = vec![];
    let kinds = [
        ("at most", &measured.compute_units, &committed.compute_units),
        ("at least", &measured.least_units, &committed.least_units),
    ];
    for (kind, measured, committed) in kinds {
        for (name, units) in measured {
            match committed.get(name) {
                Some(known) if !differs(*known, *units) => {}
                known => wrong.push(format!("{name}: {units} compute units {kind}, committed {known:?}")),
            }
        }
    }
    for name in committed.compute_units.keys() {
        if !measured.compute_units.contains_key(name) {
            wrong.push(format!("{name} is committed and does not exist"));
        }
    }
    let others = [
        ("binary", committed.binary_bytes, measured.binary_bytes),
        ("lease's rent", committed.lease.lamports, measured.lease.lamports),
        ("order's rent", committed.order.lamports, measured.order.lamports),
    ];
    for (name, known, found) in others {
        if differs(known, found) {
            wrong.push(format!("{name}: {found}, committed {known}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nIf that is meant, GANTRY_WRITE_BENCH=1 writes the new figures");
}

fn committed() -> Figures {
    let text = fs::read_to_string(results_path())
        .unwrap_or_else(|e| panic!("program/bench/results.json: {e}; GANTRY_WRITE_BENCH=1 writes it"));
    Figures::from_json(&serde_json::from_str(&text).expect("program/bench/results.json is JSON"))
}

#[test]
fn the_document_says_what_is_guaranteed() {
    if std::env::var_os("GANTRY_WRITE_BENCH").is_some_and(|v| v == "1") {
        return;
    }
    let document = fs::read_to_string(docs_path()).expect("docs/reports/compute-units.md");
    assert!(
        document == committed().to_markdown(),
        "docs/reports/compute-units.md is not what program/bench/results.json says; GANTRY_WRITE_BENCH=1 writes both"
    );
}

#[test]
fn two_percent_are_tolerated_and_no_more() {
    assert!(!differs(10_000, 10_200) && !differs(10_000, 9_800) && !differs(10_000, 10_000));
    assert!(differs(10_000, 10_201) && differs(10_000, 9_799));
}
