//! Bugs that a build of the program contains on purpose, one at a time: the rules must find every one.
//!
//! `scripts/hostile.sh planted` builds the program with the feature `planted-bugs` and runs this.

use std::path::PathBuf;

use serde_json::{json, Value};

use super::arena::Arena;
use super::run::{play, replay, Failure};
use super::shrink::shrink;
use super::trace::Step;

/// Number and nature of every bug; the numbers are those of `planted!` in program/src.
pub const BUGS: &[(u64, &str)] = &[
    (1, "anyone sets a node's ask and status: a missing signer check"),
    (2, "anyone ends a lease"),
    (3, "the fee is rounded up"),
    (4, "costs are rounded up"),
    (5, "a settlement pays again what was paid before"),
    (6, "stake that machines and leases need can be unstaked"),
    (7, "a keeper's second vote for the same root counts again"),
    (8, "a proof deeper than the deepest tree is taken for true"),
    (9, "the fee is not swept at the close"),
    (10, "a lease that ends keeps what can no longer be owed"),
    (11, "an appeal succeeds without weight"),
    (12, "unstaked stake leaves before its cool-down"),
    (13, "an aborted lease does not free its GPUs"),
    (14, "a device that is claimed can be registered again"),
    (15, "time after the funded end is billed"),
    (16, "downtime is billed"),
    (17, "a report's rent goes to whom its closer names"),
    (18, "the mint of a token account is not checked"),
    (19, "a paused market closes no lease: refunds are stuck"),
    (20, "half of the weight makes a report final"),
    (21, "a slash takes all stake, not what the fault says"),
    (22, "the finder gets what should be burned"),
    (23, "a receipt needs no signature of the customer"),
    (24, "a leaf can be applied twice"),
    (25, "a keeper's bond leaves before its exit time"),
    (26, "parameters take effect before their timelock"),
    (27, "GPUs that are leased are leased again"),
    (28, "reserved credits can be spent and withdrawn"),
    (29, "a bond made after a period votes on it"),
    (30, "a slash does not wait for its appeal window"),
    (31, "a session key reserves more than its cap"),
    (32, "a keeper's fees can be claimed twice"),
    (33, "the treasury gets the share of the buy-back"),
    (34, "who did not vote is paid for a vote"),
    (35, "what a buy-back burns is rounded down"),
    (36, "the day's cap on emission starts anew with every claim"),
    (37, "a keeper votes twice on a dispute"),
    (38, "half of the weight decides a dispute"),
    (39, "one output alone is the majority"),
    (40, "an output is shown that nobody committed to"),
    (41, "right work is taken for wrong"),
    (42, "statements about two periods contradict each other"),
    (43, "a node that scores as well is a better one"),
    (44, "the winner of an auction is paid its own bid"),
    (45, "a worse bid wins against a better one"),
    (46, "an expired session key still acts"),
    (47, "a session key gets back what an earlier one reserved"),
    (48, "a lease moves without its checkpoint"),
    (49, "a lease moves to a dearer node"),
    (50, "a lease that moves runs for the whole time again"),
    (51, "a losing bid that nobody signed sets the price"),
    (52, "the auction of an earlier life of the order awards it"),
    (53, "another keeper goes on with a keeper's auction"),
    (54, "a customer whose dispute is rejected keeps its deposit"),
    (55, "one wrong product is slashed twice"),
    (56, "a sealed order is awarded at a node's ask"),
    (57, "a reveal that came too late counts as left out"),
    (58, "a keeper is slashed for a bid that another acknowledged"),
    (59, "one omitted bid is slashed again and again"),
    (60, "a bid that scores as well as the award convicts its keeper"),
    (61, "the bid that won counts as left out"),
    (62, "an award is contested after its time"),
    (63, "the customer gets back all it paid, not what was too much"),
    (64, "a bid that its node never signed convicts a keeper"),
    (67, "a commitment can be shortened"),
    (68, "a broken commitment costs nothing"),
    (69, "a commitment that was kept costs stake"),
    (70, "a commitment that is settled goes on"),
    (71, "a commitment is settled before its last report"),
    (72, "a guarantee counts for the score after its end"),
    (73, "evidence of a lower tier takes devices"),
    (74, "evidence never expires"),
    (75, "a node without all its claims is awarded"),
    (76, "a node that is migrated needs no stake any more"),
    (77, "a node is migrated again, and loses what is new"),
    (78, "the report of an older period replaces newer evidence"),
    (79, "time that a committed node is suspended does not count"),
    (80, "a period outside a commitment counts in it"),
    (82, "a vote that moves stays counted where it was"),
    (83, "a vote moves after the report is final"),
    (84, "a vote moves to a root that weighs no more"),
    (85, "manifests of two periods contradict each other"),
    (86, "a vote moves with less weight than was counted"),
];

/// Steps of one story at most: the longer it is, the fewer of its machines and keepers are still in business.
const STORY: usize = 2_500;

/// Steps of a record at most, so that it is worth being kept.
const RECORD: usize = 100;

/// How a bug was found.
pub struct Find {
    pub bug: u64,
    /// Steps that each seed took, in the order of the seeds; none where it was not found.
    pub steps: Vec<Option<usize>>,
    /// The rule that the shortest find broke.
    pub rule: &'static str,
    /// The shortest find, shortened further.
    pub record: Vec<Step>,
}

impl Find {
    pub fn found(&self) -> bool {
        self.steps.iter().all(Option::is_some)
    }

    /// What is worth being committed.
    pub fn kept(&self) -> Option<&[Step]> {
        (1..=RECORD).contains(&self.record.len()).then_some(&self.record[..])
    }

    /// Of the seeds that found it.
    pub fn median(&self) -> Option<usize> {
        let mut steps: Vec<usize> = self.steps.iter().copied().flatten().collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }
}

/// Stories with one bug switched on: for each seed one after the other, until one finds it or `most` steps are done.
pub fn hunt(bug: u64, seeds: u64, most: usize) -> Find {
    let start = Arena::new(bug);
    let mut find = Find { bug, steps: vec![], rule: "", record: vec![] };
    let mut shortest: Option<Failure> = None;
    for seed in 0..seeds {
        let mut done = 0;
        let mut failure = None;
        for story in 0.. {
            let steps = STORY.min(most - done);
            if steps == 0 || failure.is_some() {
                break;
            }
            failure = play(&start, 1_000 + seed + 1_000_000 * story, steps).1;
            done += failure.as_ref().map_or(steps, |failure| failure.steps.len());
        }
        find.steps.push(failure.as_ref().map(|_| done));
        let Some(failure) = failure else { continue };
        if shortest.as_ref().is_none_or(|known| failure.steps.len() < known.steps.len()) {
            shortest = Some(failure);
        }
    }
    if let Some(failure) = shortest {
        find.rule = failure.violation.rule;
        find.record = shrink(&start, &failure);
    }
    find
}

/// A bug's line in docs/planted-bugs.md, after its number and nature.
fn line(find: &Find) -> String {
    let found = find.steps.iter().flatten().count();
    let steps = find.median().map_or("–".to_owned(), |steps| steps.to_string());
    let rule = if find.rule.is_empty() { "–" } else { find.rule };
    let left = if find.record.is_empty() { "–".to_owned() } else { find.record.len().to_string() };
    format!("{found} of {} | {steps} | {rule} | {left} |", find.steps.len())
}

/// docs/planted-bugs.md. Bugs that were not hunted keep the line that they have in `known`, the document as it is.
pub fn to_markdown(finds: &[Find], known: &str) -> String {
    let mut out = "# Planted bugs\n\nWritten by `scripts/hostile.sh planted --write`. The program is built with the \
                   feature `planted-bugs`, which puts these bugs\ninto it, one at a time; random hostile sequences must \
                   find each, from every seed. Steps are the median over the seeds that found\nit; the last column is \
                   what is left when the shortest find is shortened, which is committed in program/tests/regressions\n\
                   unless it is long. \
                   The program that is released has none of this: without the feature its binary is the same byte for \
                   byte.\n\n| bug | what it is | found by seeds | steps | the rule that broke | shortened to |\n| ---: \
                   | --- | ---: | ---: | --- | ---: |\n"
        .to_owned();
    let (mut by_all, mut by_some) = (0, 0);
    for (bug, what) in BUGS.iter().copied() {
        let start = format!("| {bug} | {what} | ");
        let kept = known.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned);
        let hunted = finds.iter().find(|find| find.bug == bug).map(line);
        let rest = hunted.or(kept).unwrap_or("not hunted | – | – | – |".to_owned());
        let mut count = rest.split_whitespace();
        match (count.next(), count.next(), count.next()) {
            (Some(found), Some("of"), Some(seeds)) if found == seeds => by_all += 1,
            (Some(found), Some("of"), _) if found != "0" => by_some += 1,
            _ => {}
        }
        out.push_str(&format!("{start}{rest}\n"));
    }
    out.push_str(&format!(
        "\nFound from every seed: {by_all} of {}; from some seeds: {by_some} more. The clean program breaks no rule.\n",
        BUGS.len()
    ));
    out
}

/// Where the document is.
pub fn docs_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/planted-bugs.md")
}

/// Where records of finds are.
pub fn regressions_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

/// A committed record: the steps, and what broke when it was made.
pub struct Record {
    pub name: String,
    /// The planted bug that it shows; 0 for one of the program itself, since mended.
    pub bug: u64,
    pub rule: String,
    pub steps: Vec<Step>,
}

pub fn to_json(find: &Find, record: &[Step]) -> Value {
    let steps: Vec<Value> = record.iter().map(Step::to_json).collect();
    json!({ "bug": find.bug, "rule": find.rule, "steps": steps })
}

/// Every committed record, by name. Panics on one that cannot be read.
pub fn records() -> Vec<Record> {
    let dir = regressions_dir();
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut found: Vec<Record> = entries
        .map(|entry| entry.expect("entry is readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let root: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let steps = root["steps"].as_array().expect("steps are a list");
            Record {
                name: path.file_stem().expect("has a name").to_string_lossy().into_owned(),
                bug: root["bug"].as_u64().expect("a bug's number"),
                rule: root["rule"].as_str().expect("a rule's name").to_owned(),
                steps: steps.iter().map(|step| Step::from_json(step).expect("a step")).collect(),
            }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// What a record breaks in a program with its bug switched on, or with none.
pub fn broken_by(record: &Record, bug: u64) -> Option<String> {
    let (_, failure) = replay(&Arena::new(bug), &record.steps);
    failure.map(|failure| failure.violation.rule.to_owned())
}
