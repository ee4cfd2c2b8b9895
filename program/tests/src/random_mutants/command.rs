//! `hostile random-mutants`: what scripts/hostile.sh calls.
//!
//! - `weave DIR SEED COUNT CHECK...` writes the copy with mutants that CHECK compiles, and their list to DIR.json
//! - `weave-again DIR LIST CHECK...` does so with the mutants of LIST, after the program changed
//! - `try DIR.json PROGRAM.so TESTS RESULTS` tries those that RESULTS does not have
//! - `hunt NUMBER` plays random sequences against one of them
//! - `write DIR.json RESULTS` writes the report

use std::path::{Path, PathBuf};

use super::suite::Suite;
use super::trial::{try_all, Results};
use super::{check, report, List};
use crate::hostile::hunt::hunt;

/// Seeds and steps of the random sequences that a survivor of the tests meets.
const SEEDS: u64 = 2;
const STEPS: usize = 15_000;

/// `again` names mutants to try although they have a result.
pub fn run(arguments: &[String], again: &[u64]) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts[..] {
        ["weave", dir, seed, count, _, ..] => {
            check::weave(Path::new(dir), number(seed)?, number(count)? as usize, &arguments[4..])
        }
        ["weave-again", dir, list, _, ..] => {
            check::weave_again(Path::new(dir), &List::read(Path::new(list))?, &arguments[3..])
        }
        ["try", list, program, tests, results] => {
            let suite = Suite { tests: PathBuf::from(tests), program: PathBuf::from(program) };
            let hostile = std::env::current_exe().map_err(|e| e.to_string())?;
            try_all(&List::read(Path::new(list))?, &suite, &hostile, Path::new(results), again)
        }
        ["hunt", mutant] => {
            let find = hunt(number(mutant)?, SEEDS, STEPS);
            if !find.rule.is_empty() {
                println!("test {} ... FAILED", find.rule);
            }
            println!("test result: {:?}", find.steps);
            Ok(())
        }
        ["write", list, results] => {
            let (list, results) = (List::read(Path::new(list))?, Results::read(Path::new(results))?);
            let text = report::to_markdown(&list, &results, &report::judgements()?)?;
            let path = crate::mutants::program_dir().join("../docs/reports/random-mutants.md");
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
        }
        _ => Err("usage: hostile random-mutants weave|weave-again|try|hunt|write ...".to_owned()),
    }
}
