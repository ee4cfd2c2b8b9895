//! docs/reports/random-mutants.md.

use std::path::PathBuf;

use serde_json::Value;

use super::trial::{Results, Stage};
use super::{Entry, List};

/// What a mutant is that the tests do not find, or did not find once.
pub struct Judgement {
    file: String,
    function: String,
    original: String,
    replacement: String,
    /// `equivalent`, `defence in depth` or `real`.
    class: String,
    why: String,
    /// The test that was added and finds it.
    test: Option<String>,
}

/// program/tests/mutants/survivors.json.
pub fn judgements() -> Result<Vec<Judgement>, String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("mutants/survivors.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

pub fn parse(text: &str) -> Result<Vec<Judgement>, String> {
    let root: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let entries = root.as_array().ok_or("not a list")?;
    entries
        .iter()
        .map(|entry| {
            let text = |field: &str| {
                entry[field].as_str().map(str::to_owned).ok_or_else(|| format!("no {field}: {entry}"))
            };
            let class = text("class")?;
            if !["equivalent", "defence in depth", "real"].contains(&class.as_str()) {
                return Err(format!("no class {class}: {entry}"));
            }
            Ok(Judgement {
                file: text("file")?,
                function: text("function")?,
                original: text("original")?,
                replacement: text("replacement")?,
                why: text("why")?,
                test: entry["test"].as_str().map(str::to_owned),
                class,
            })
        })
        .collect()
}

impl Judgement {
    fn is_of(&self, entry: &Entry) -> bool {
        (&self.file, &self.function) == (&entry.file, &entry.function)
            && (&self.original, &self.replacement) == (&entry.original, &entry.replacement)
    }
}

const HEAD: &str = "# Random mutants\n\n\
    `scripts/hostile.sh random-mutants --write` writes this page. A random mutant is an error of a usual kind at a place of\n\
    the program that a seed draws. The mutants are built into a copy of the program and switched on one at a time. Each is\n\
    tried against the tests of its instruction, then against all Rust tests of the program, and last against the random\n\
    sequences. [program/tests/mutants/README.md](../../program/tests/mutants/README.md) says which errors there are.\n\n";

/// The page, or what keeps it from being written.
pub fn to_markdown(list: &List, results: &Results, judgements: &[Judgement]) -> Result<String, String> {
    let count = |stage: Stage| {
        let all = list.entries.iter().filter_map(|entry| results.tried.get(&entry.number));
        all.filter(|tried| tried.stage == stage).count()
    };
    let [own, all, sequences, survived] =
        [Stage::Own, Stage::All, Stage::Sequences, Stage::Survived].map(count);
    let tried = own + all + sequences + survived;
    let (mut table, mut equivalent, mut depth, mut added) = (String::new(), 0, 0, 0);
    for entry in &list.entries {
        let Some(tried) = results.tried.get(&entry.number) else { continue };
        let judged = judgements.iter().find(|judgement| judgement.is_of(entry));
        let lives = tried.stage == Stage::Survived;
        let (class, why) = match judged {
            None if lives => ("unexplained", "–".to_owned()),
            None => continue,
            Some(Judgement { test: Some(test), .. }) if lives => {
                return Err(format!("mutant {} lives, though {test} is to find it", entry.number));
            }
            Some(Judgement { test: Some(test), class, why, .. }) => {
                added += 1;
                (class.as_str(), format!("{why} `{test}` finds it since."))
            }
            Some(_) if !lives => {
                return Err(format!("mutant {} is explained as a survivor, and found", entry.number));
            }
            Some(Judgement { class, why, .. }) => {
                equivalent += usize::from(class == "equivalent");
                depth += usize::from(class == "defence in depth");
                (class.as_str(), why.clone())
            }
        };
        table.push_str(&format!(
            "| {} | {}:{} | {} | {} | {class} | {why} |\n",
            entry.number,
            entry.file,
            entry.line,
            code(&entry.original),
            code(&entry.replacement)
        ));
    }
    let found = tried - survived;
    let real = tried - equivalent;
    let score = |found: usize| found as f64 * 100.0 / real.max(1) as f64;
    let counts = [
        ("places where an error can be made", list.sites as usize),
        ("drawn that do not compile", list.dropped as usize),
        ("drawn and built", list.entries.len()),
        ("tried", tried),
        ("found by tests of the instruction", own),
        ("found by all tests", all),
        ("found by random sequences", sequences),
        ("survivors", survived),
        ("of these equivalent", equivalent),
        ("of these defence in depth", depth),
        ("found by tests that were added for them", added),
    ];
    let counts: String = counts.iter().map(|(what, count)| format!("| {what} | {count} |\n")).collect();
    let kinds = kinds(list, results);
    Ok(format!(
        "{HEAD}Seed {}. Score: {:.1} % of the mutants that are not equivalent were found ({found} of {real}); before tests \
         were added\nfor survivors, {:.1} % ({}). The second figure is how good the tests are at errors that nobody chose; the first \
         one says\nwhat they leave of this draw.\n\n| count of | |\n| --- | ---: |\n{counts}\n\
         | kind of error | tried | found |\n| --- | ---: | ---: |\n{kinds}\n\
         ## Survivors\n\nAn equivalent mutant behaves as the program does. Defence in depth is a check behind another one that \
         refuses\nthe same. A real survivor is an error that no test found.\n\n\
         | mutant | place | original | replacement | class | why |\n| ---: | --- | --- | --- | --- | --- |\n{table}",
        list.seed,
        score(found),
        score(found - added),
        found - added,
    ))
}

fn kinds(list: &List, results: &Results) -> String {
    let mut kinds: std::collections::BTreeMap<&str, (usize, usize)> = Default::default();
    for entry in &list.entries {
        let Some(tried) = results.tried.get(&entry.number) else { continue };
        let counts = kinds.entry(&entry.operator).or_default();
        counts.0 += 1;
        counts.1 += usize::from(tried.stage != Stage::Survived);
    }
    kinds.iter().map(|(kind, (tried, found))| format!("| {kind} | {tried} | {found} |\n")).collect()
}

/// Text of a source in a cell of a table, shortened.
fn code(text: &str) -> String {
    const MOST: usize = 90;
    let text = match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    };
    match text.is_empty() {
        true => "left out".to_owned(),
        false => format!("`{}`", text.replace('|', "\\|")),
    }
}
