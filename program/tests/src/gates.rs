//! What feature gates change for the program: gates that the runtime knows and mainnet has not activated yet.

use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use agave_feature_set::{FeatureSet, FEATURE_NAMES};
use gantry_market::state::Market;
use litesvm::LiteSVM;
use solana_address::Address;

use crate::testbed::{chain, test_params};
use crate::{bench, pda, Testbed};

/// What a set of gates changes against mainnet's.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// LiteSVM can make no such chain: its copies of other programs do not load. It says nothing of ours.
    NoChain(String),
    /// An instruction was refused, or the program did not load.
    Refused(String),
    /// Every instruction succeeded.
    Played {
        /// The market counts something else at the end.
        result: bool,
        /// Compute units under mainnet's gates and under these, where they differ.
        units: BTreeMap<&'static str, (u64, u64)>,
    },
}

impl Change {
    /// Whether the program works as under mainnet's gates, at the same cost.
    pub fn none(&self) -> bool {
        matches!(self, Self::Played { result: false, units } if units.is_empty())
    }
}

/// What came of the sequence in which every instruction succeeds.
struct Outcome {
    units: BTreeMap<&'static str, u64>,
    market: Vec<u8>,
}

fn said<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.as_deref().and_then(|text| text.lines().next()).unwrap_or("no reason").to_owned()
    })
}

fn play(features: &FeatureSet) -> Result<Outcome, Change> {
    let svm = said(|| chain(features.clone())).map_err(Change::NoChain)?;
    said(|| {
        let mut w = Testbed::on(svm).open(test_params());
        bench::play(&mut w);
        let market = bytemuck::bytes_of(&w.read::<Market>(&pda::market())).to_vec();
        Outcome { units: w.compute.iter().map(|(name, (_, most))| (name, most)).collect(), market }
    })
    .map_err(Change::Refused)
}

/// Gates by what they are for: those that mainnet lacks, and those that it has.
pub fn gates() -> (BTreeMap<&'static str, Address>, BTreeMap<&'static str, Address>) {
    let mainnet = LiteSVM::mainnet_feature_set();
    FEATURE_NAMES.iter().map(|(id, name)| (*name, *id)).partition(|(_, id)| !mainnet.is_active(id))
}

/// All gates, and for each that mainnet lacks: all without it, and mainnet's with it.
pub fn to_come() -> Vec<(String, FeatureSet)> {
    let mut sets = vec![("all".to_owned(), FeatureSet::all_enabled())];
    for (name, id) in gates().0 {
        let (mut without, mut with) = (FeatureSet::all_enabled(), LiteSVM::mainnet_feature_set());
        without.deactivate(&id);
        with.activate(&id, 0);
        sets.push((format!("all without: {name}"), without));
        sets.push((format!("mainnet's with: {name}"), with));
    }
    sets
}

/// Mainnet's gates without one, for each.
pub fn without_one() -> Vec<(String, FeatureSet)> {
    let without = |id| {
        let mut features = LiteSVM::mainnet_feature_set();
        features.deactivate(&id);
        features
    };
    gates().1.into_iter().map(|(name, id)| (name.to_owned(), without(id))).collect()
}

/// What each set of gates changes, by its name.
pub fn changes(sets: &[(String, FeatureSet)]) -> BTreeMap<&str, Change> {
    let mainnet = play(&LiteSVM::mainnet_feature_set());
    let mainnet = mainnet.unwrap_or_else(|change| panic!("under mainnet's gates: {change:?}"));
    let (next, out) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, features)) = sets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let change =
                        play(features).map_or_else(|change| change, |other| difference(&mainnet, &other));
                    out.lock().expect("no thread panics with it").insert(name.as_str(), change);
                }
            });
        }
    });
    out.into_inner().expect("no thread panics with it")
}

fn difference(mainnet: &Outcome, other: &Outcome) -> Change {
    let units = mainnet.units.iter().filter_map(|(name, before)| {
        let after = other.units.get(name).copied().unwrap_or_default();
        (after != *before).then_some((*name, (*before, after)))
    });
    Change::Played { result: mainnet.market != other.market, units: units.collect() }
}

/// The release of Agave whose runtime this is, by the lock file.
pub fn release() -> String {
    let lock = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).unwrap_or_else(|e| panic!("{}: {e}", lock.display()));
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"agave-feature-set\"").skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = \""));
    version.and_then(|line| line.strip_suffix('"')).expect("the lock file names agave-feature-set").to_owned()
}

/// Where the findings are for readers.
pub fn docs_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports/feature-gates.md")
}

/// What the document says of this release.
pub fn section(found: &BTreeMap<&str, Change>) -> String {
    let of = |set: &str| match found.get(set) {
        Some(change) if change.none() => "the same".to_owned(),
        Some(Change::NoChain(_)) => "LiteSVM makes no such chain".to_owned(),
        Some(Change::Refused(why)) => format!("refused: {why}"),
        Some(Change::Played { result, units }) => {
            let end = if *result { "another end; " } else { "" };
            let units = units.iter().map(|(name, (before, after))| format!("{name} {before} → {after}"));
            format!("{end}{}", units.collect::<Vec<_>>().join(", "))
        }
        None => "not tried".to_owned(),
    };
    let (lacking, active) = gates();
    let mut out = format!(
        "## Agave {}\n\n{} gates, of which mainnet has activated {} by LiteSVM's list. All at once: {}.\n\n",
        release(),
        lacking.len() + active.len(),
        active.len(),
        of("all")
    );
    out.push_str(
        "| gate that mainnet lacks | mainnet's gates with it | all gates without it |\n| --- | --- | --- |\n",
    );
    for name in lacking.keys() {
        let (with, without) = (of(&format!("mainnet's with: {name}")), of(&format!("all without: {name}")));
        out.push_str(&format!(
            "| {} | {with} | {without} |\n",
            name.split_whitespace().collect::<Vec<_>>().join(" ")
        ));
    }
    out
}

/// The document with this release's section in the place of its former one.
pub fn renewed(document: &str, section: &str) -> String {
    let mut parts: Vec<&str> = document.split("\n## ").collect();
    let title =
        section.lines().next().and_then(|line| line.strip_prefix("## ")).expect("a section has a title");
    let own = section.trim_end().strip_prefix("## ").expect("a section has a title");
    match parts.iter().position(|part| part.lines().next() == Some(title)) {
        Some(at) => parts[at] = own,
        None => parts.push(own),
    }
    parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n## ") + "\n"
}
