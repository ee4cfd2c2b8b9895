//! Mutants match the program's sources, and only they contain them.

use gantry_market_tests::hostile::hunt::to_markdown;
use gantry_market_tests::mutants::{all, parse, weave, weave_all};

#[test]
fn every_mutant_matches_the_sources() {
    let mutants = all();
    assert!(mutants.len() >= 80, "{} mutants", mutants.len());
    let woven =
        weave_all(&mutants).unwrap_or_else(|cause| panic!("{cause}; see program/tests/mutants/README.md"));
    for mutant in &mutants {
        let switch = format!("crate::mutant::active({})", mutant.number);
        let switches: usize = woven.values().map(|text| text.matches(&switch).count()).sum();
        assert_eq!(switches, mutant.changes.len(), "mutant {}", mutant.number);
    }
}

#[test]
fn the_sources_contain_no_switch() {
    for (file, text) in weave_all(&[]).expect("sources are there") {
        assert!(!text.contains("mutant"), "program/src/{file} names mutants");
    }
}

/// An entry with one change in `a.rs`.
fn entry(number: u64, original: &str, more: &str) -> String {
    format!(
        r#"{{"number": {number}, "description": "d", "changes":
            [{{"file": "a.rs", "original": "{original}", "replacement": "0"{more}}}]}}"#
    )
}

#[test]
fn an_original_becomes_a_switch() {
    let mutants = parse(&format!("[{}]", entry(7, "a + b", ""))).expect("parses");
    let woven = weave("a.rs", "let c = a\n    + b;", &mutants).expect("matches");
    assert_eq!(woven, "let c = (if crate::mutant::active(7) { 0 } else { a\n    + b });");
    assert_eq!(weave("b.rs", "a + b", &mutants).as_deref(), Ok("a + b"), "another file stays");

    let both = parse(&format!("[{}, {}]", entry(7, "a", ""), entry(8, "a", ""))).expect("parses");
    let woven = weave("a.rs", "a", &both).expect("matches");
    assert_eq!(
        woven,
        "(if crate::mutant::active(7) { 0 } else if crate::mutant::active(8) { 0 } else { a })"
    );

    let second = parse(&format!("[{}]", entry(9, "a", r#", "within": "= a;""#))).expect("parses");
    let woven = weave("a.rs", "f(a); let b = a;", &second).expect("matches");
    assert_eq!(woven, "f(a); let b = (if crate::mutant::active(9) { 0 } else { a });");
}

#[test]
fn what_does_not_match_is_named() {
    let mutants = parse(&format!("[{}]", entry(7, "a + b", ""))).expect("parses");
    for (source, times) in [("a - b", 0), ("a + b; a + b", 2)] {
        assert_eq!(
            weave("a.rs", source, &mutants),
            Err(format!(
                "mutant 7 does not match program/src/a.rs: this text occurs {times} times, wanted once: a + b"
            ))
        );
    }
    let overlapping = parse(&format!("[{}, {}]", entry(7, "a + b", ""), entry(8, "b", ""))).expect("parses");
    assert!(
        weave("a.rs", "a + b", &overlapping).is_err_and(|e| e.contains("mutant 8") && e.contains("overlaps"))
    );
    assert!(weave_all(&mutants).is_err_and(|e| e == "mutant 7: there is no file program/src/a.rs"));
}

#[test]
fn entries_are_complete_and_numbered_once() {
    let (one, two) = (entry(1, "a", ""), entry(2, "a", ""));
    assert!(parse(&format!("[{one}, {two}]")).is_ok());
    for (text, cause) in [
        (format!("[{one}, {one}]"), "mutant 1 does not follow a lower number"),
        (format!("[{two}, {one}]"), "mutant 1 does not follow a lower number"),
        (one.clone(), "not a list"),
        (format!("[{}]", one.replace("\"d\"", "\" \"")), "mutant 1 has no description"),
        (format!("[{}]", one.replace("original", "origin")), "mutant 1 has no original"),
        (r#"[{"number": 1, "description": "d", "changes": []}]"#.to_owned(), "mutant 1 has no changes"),
    ] {
        assert_eq!(parse(&text).map(|_| ()), Err(cause.to_owned()), "{text}");
    }
}

/// A mutant that a test found before and random sequences are to find now is not taken for found.
#[test]
fn the_page_forgets_the_test_of_a_mutant_that_has_none_any_more() {
    let mutants = parse(&format!("[{}]", entry(7, "a + b", ""))).expect("parses");
    let page = to_markdown(&mutants, &[], "| 7 | d | `some::test` |\n");
    assert!(page.contains("| 7 | d | not hunted | – | – | – |"), "{page}");
    let page = to_markdown(&mutants, &[], "| 7 | d | 3 of 3 | 12 | a rule | 4 |\n");
    assert!(page.contains("| 7 | d | 3 of 3 | 12 | a rule | 4 |"), "{page}");
    assert!(page.contains("Found from every seed: 1 of 1"), "{page}");
}
