//! Mutants: deliberate errors, kept as data in program/tests/mutants and built into a copy of the program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// An expression of the program and what stands in its place while the mutant is on.
#[derive(Clone, Debug)]
pub struct Change {
    /// Relative to program/src.
    pub file: String,
    /// Text that occurs once in the file and contains the original once. Without it the original itself occurs once.
    pub within: Option<String>,
    pub original: String,
    pub replacement: String,
}

#[derive(Clone, Debug)]
pub struct Mutant {
    pub number: u64,
    pub description: String,
    /// The test that finds it, where the random sequences are not to: with the instruction of the matrix, if it is that one.
    pub test: Option<String>,
    pub changes: Vec<Change>,
}

/// The program crate.
pub fn program_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn mutants_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("mutants")
}

/// All mutants of program/tests/mutants/mutants.json. Panics when it cannot be read.
pub fn all() -> Vec<Mutant> {
    let path = mutants_dir().join("mutants.json");
    let text = read(&path).unwrap_or_else(|e| panic!("{e}"));
    parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads mutants. Numbers ascend from one entry to the next.
pub fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let root: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut mutants: Vec<Mutant> = vec![];
    for entry in root.as_array().ok_or("not a list")? {
        let number = entry["number"].as_u64().ok_or_else(|| format!("an entry has no number: {entry}"))?;
        let name = format!("mutant {number}");
        if mutants.last().is_some_and(|last| last.number >= number) {
            return Err(format!("{name} does not follow a lower number"));
        }
        let description = text_of(entry, "description", &name)?;
        let changes = entry["changes"].as_array().filter(|changes| !changes.is_empty());
        let changes = changes.ok_or_else(|| format!("{name} has no changes"))?;
        let changes = changes.iter().map(|change| parse_change(change, &name)).collect::<Result<_, _>>()?;
        let test = match entry.get("test") {
            Some(_) => Some(text_of(entry, "test", &name)?),
            None => None,
        };
        mutants.push(Mutant { number, description, test, changes });
    }
    Ok(mutants)
}

fn parse_change(change: &Value, name: &str) -> Result<Change, String> {
    let within = match change.get("within") {
        Some(_) => Some(text_of(change, "within", name)?),
        None => None,
    };
    Ok(Change {
        file: text_of(change, "file", name)?,
        within,
        original: text_of(change, "original", name)?,
        replacement: text_of(change, "replacement", name)?,
    })
}

fn text_of(value: &Value, field: &str, name: &str) -> Result<String, String> {
    let text = value[field].as_str().map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| format!("{name} has no {field}"))
}

/// Every place in `source` where `text` stands; any white space of `text` matches any white space of `source`.
fn places(source: &str, text: &str) -> Vec<Range<usize>> {
    let match_at = |start: usize| {
        let mut rest = &source[start..];
        for (i, word) in text.split_whitespace().enumerate() {
            if i > 0 {
                let next = rest.trim_start();
                if next.len() == rest.len() {
                    return None;
                }
                rest = next;
            }
            rest = rest.strip_prefix(word)?;
        }
        Some(start..source.len() - rest.len())
    };
    source.char_indices().filter_map(|(start, _)| match_at(start)).collect()
}

/// The one place of `text` in `source`, or how often it stands there.
fn place(source: &str, text: &str) -> Result<Range<usize>, String> {
    let found = places(source, text);
    match &found[..] {
        [one] => Ok(one.clone()),
        _ => Err(format!("this text occurs {} times, wanted once: {text}", found.len())),
    }
}

/// Where a change's original stands in its file.
fn span(source: &str, change: &Change) -> Result<Range<usize>, String> {
    let around = match &change.within {
        Some(within) => place(source, within)?,
        None => 0..source.len(),
    };
    let inner = place(&source[around.clone()], &change.original)?;
    Ok(around.start + inner.start..around.start + inner.end)
}

/// `source` with every change to `file` of `mutants` as a switch. Fails on a text that does not match.
pub fn weave(file: &str, source: &str, mutants: &[Mutant]) -> Result<String, String> {
    // Mutants of the same expression share a place.
    let mut switches: BTreeMap<(usize, usize), Vec<(u64, &str)>> = BTreeMap::new();
    for mutant in mutants {
        for change in mutant.changes.iter().filter(|change| change.file == file) {
            let span = span(source, change)
                .map_err(|e| format!("mutant {} does not match program/src/{file}: {e}", mutant.number))?;
            switches.entry((span.start, span.end)).or_default().push((mutant.number, &change.replacement));
        }
    }
    let (mut woven, mut at) = (String::new(), 0);
    for ((start, end), replacements) in switches {
        if start < at {
            let (number, _) = replacements[0];
            return Err(format!("mutant {number}: its text in program/src/{file} overlaps another mutant's"));
        }
        woven.push_str(&source[at..start]);
        woven.push('(');
        for (number, replacement) in replacements {
            woven.push_str(&format!("if crate::mutant::active({number}) {{ {replacement} }} else "));
        }
        woven.push_str(&format!("{{ {} }})", &source[start..end]));
        at = end;
    }
    woven.push_str(&source[at..]);
    Ok(woven)
}

/// Weaves `mutants` into the sources of the program; the result is every source file by its path under program/src.
pub fn weave_all(mutants: &[Mutant]) -> Result<BTreeMap<String, String>, String> {
    let src = program_dir().join("src");
    let mut woven = BTreeMap::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = path.strip_prefix(&src).map_err(|e| e.to_string())?.to_string_lossy().into_owned();
            let text = weave(&file, &read(&path)?, mutants)?;
            woven.insert(file, text);
        }
    }
    for mutant in mutants {
        if let Some(change) = mutant.changes.iter().find(|change| !woven.contains_key(&change.file)) {
            return Err(format!("mutant {}: there is no file program/src/{}", mutant.number, change.file));
        }
    }
    Ok(woven)
}

/// What the copy's lib.rs begins with.
pub const ALLOWED: &str = "#![allow(unused_parens, arithmetic_overflow)]\n";

/// Writes a copy of the program crate with all mutants to `dir`.
pub fn write_copy(dir: &Path) -> Result<(), String> {
    write_files(dir, weave_all(&all())?)
}

/// Writes a copy of the program crate with these sources to `dir`. The package has another name, so that it can be built
/// in the program's target directory without replacing what lies there.
pub fn write_files(dir: &Path, mut files: BTreeMap<String, String>) -> Result<(), String> {
    let lib = files.get_mut("lib.rs").ok_or("the program has no lib.rs")?;
    lib.insert_str(0, ALLOWED);
    lib.push_str("\nmod mutant;\n");
    files.insert("mutant.rs".to_owned(), read(&mutants_dir().join("mutant.rs"))?);
    let mut files: BTreeMap<String, String> =
        files.into_iter().map(|(file, text)| (format!("src/{file}"), text)).collect();
    for name in ["Cargo.toml", "Cargo.lock"] {
        let text = read(&program_dir().join(name))?
            .replace("name = \"gantry-market\"", "name = \"gantry-market-mutants\"")
            .replace("name = \"gantry_market\"", "name = \"gantry_market_mutants\"")
            .replace("path = \"framework\"", &format!("path = {:?}", program_dir().join("framework")));
        files.insert(name.to_owned(), text);
    }
    remove_others(dir, &dir.join("src"), &files)?;
    for (file, text) in &files {
        let path = dir.join(file);
        // An unchanged file keeps its time, so that cargo does not build it again.
        if std::fs::read_to_string(&path).is_ok_and(|known| known == *text) {
            continue;
        }
        let folder = path.parent().ok_or("a file lies in a folder")?;
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Removes what an earlier copy left and the program no longer has.
fn remove_others(dir: &Path, folder: &Path, files: &BTreeMap<String, String>) -> Result<(), String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let file = path.strip_prefix(dir).map_err(|e| e.to_string())?.to_string_lossy().into_owned();
        if path.is_dir() {
            remove_others(dir, &path, files)?;
        } else if !files.contains_key(&file) {
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
