//! The program under feature gates that mainnet has not activated.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gantry_market_tests::gates::{
    changes, docs_path, release, renewed, section, to_come, without_one, Change,
};

/// Gates under which LiteSVM makes no chain, for the other programs that it brings are of SBPF version 0.
const V0_ENDS: [&str; 2] = [
    "all without: Re-enables execution of SBPFv0 programs",
    "mainnet's with: SIMD-0161: Disables execution of SBPFv0 programs",
];
/// The system calls by which the program reads what rent costs and whether an address is on the curve, and rent that is a
/// number of lamports a byte.
const NEEDED: [&str; 3] = [
    "SIMD-0127: Enable syscall for fetching Sysvar bytes",
    "SIMD-0194: Deprecate rent exemption threshold",
    "enable curve25519 syscalls",
];
/// With the older token program, transfers cost more.
const CHEAPER: &str = "SIMD-0266: Efficient Token program";

fn check(found: &BTreeMap<&str, Change>, expected: impl Fn(&str, &Change) -> bool) {
    let wrong: Vec<_> =
        found.iter().filter(|(name, change)| !change.none() && !expected(name, change)).collect();
    assert!(wrong.is_empty(), "Agave {}: {wrong:#?}", release());
}

/// Every instruction, in one sequence.
#[test]
fn no_gate_to_come_changes_what_instructions_do_or_cost() {
    let sets = to_come();
    let found = changes(&sets);
    assert!(found.len() > 60 && found.contains_key("all"), "{} sets of gates", found.len());
    check(&found, |name, change| V0_ENDS.contains(&name) && matches!(change, Change::NoChain(_)));
    for name in V0_ENDS {
        assert!(!found[name].none(), "{name}: gates have no effect here");
    }
    let document = fs::read_to_string(docs_path()).expect("docs/reports/feature-gates.md");
    let new = renewed(&document, &section(&found));
    if std::env::var_os("GANTRY_WRITE_BENCH").is_some_and(|v| v == "1") {
        fs::write(docs_path(), new).expect("the document is written");
    } else {
        assert!(
            document == new,
            "docs/reports/feature-gates.md: GANTRY_WRITE_BENCH=1 writes what holds for Agave {}",
            release()
        );
    }
}

/// What the program asks of a cluster: gates that mainnet has activated, without which it does not work, or costs more. It
/// takes half a minute, and is for nightly runs.
#[test]
fn the_program_asks_for_four_gates_of_mainnet() {
    if std::env::var_os("GANTRY_EXHAUSTIVE").is_none_or(|v| v != "1") {
        println!("GANTRY_EXHAUSTIVE=1 tries every gate");
        return;
    }
    let sets = without_one();
    assert!(sets.len() > 200, "{} gates", sets.len());
    let found = changes(&sets);
    check(&found, |name, change| match change {
        Change::Refused(_) => NEEDED.contains(&name),
        Change::Played { result, .. } => name == CHEAPER && !result,
        Change::NoChain(_) => false,
    });
    for name in NEEDED.iter().chain([&CHEAPER]) {
        assert!(!found[name].none(), "{name} is not needed any more");
    }
}

/// What the program takes from the clock is its seconds alone, which Alpenglow counts by leaders' bounded word in place of
/// votes. Slots become shorter, and epochs with them.
#[test]
fn the_program_reads_no_slot_and_no_epoch() {
    fn sources(dir: &Path, out: &mut Vec<String>) {
        for entry in
            fs::read_dir(dir).expect("the program's sources").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                sources(&entry, out);
            } else {
                out.push(fs::read_to_string(&entry).expect("a source"));
            }
        }
    }
    let mut all = vec![];
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut all);
    let reads: usize = all.iter().map(|text| text.matches("Clock::get()").count()).sum();
    let seconds: usize = all.iter().map(|text| text.matches("Clock::get()?.unix_timestamp").count()).sum();
    assert!(reads > 50 && reads == seconds, "{reads} reads of the clock, {seconds} of its seconds");
    for name in [
        "SlotHashes",
        "EpochSchedule",
        "StakeHistory",
        "LastRestartSlot",
        "RecentBlockhashes",
        "EpochRewards",
    ] {
        assert!(all.iter().all(|text| !text.contains(name)), "{name} is read");
    }
}

/// A clock that stands still, as leaders who agree may have it for many blocks: nothing is earned, nothing owed, nothing stuck.
#[test]
fn a_lease_lives_within_one_second() {
    use gantry_market::state::{Credits, LEASE_ENDED};
    use gantry_market_tests::{ix, Testbed};
    let mut w = Testbed::new();
    let deal = w.running();
    let now = w.now();
    for _ in 0..50 {
        w.warp(0); // a slot
    }
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    assert_eq!((deal.state(&w).status, deal.state(&w).paid), (LEASE_ENDED, 0));
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    assert!(!w.exists(&deal.lease) && !w.exists(&deal.order));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 0);
    assert_eq!(w.now(), now);
}
