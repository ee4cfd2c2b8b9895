//! The compiled tests of this crate, run on a program with one mutant switched on.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Tries every wrong account in every place. Switches make it too expensive for some instructions.
const MATRIX: &str = "matrix::every_wrong_account_is_refused";

pub struct Suite {
    /// The test binary, built against the copy of the program: functions that tests call have the mutants too.
    pub tests: PathBuf,
    /// The copy of the program with the mutants.
    pub program: PathBuf,
}

/// How a run of tests ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed(Vec<String>),
    /// The time limit came first, or the tests ended without a result.
    Lost(&'static str),
}

/// Which tests run.
#[derive(Clone, Copy, Default)]
pub struct Which<'a> {
    /// Beginnings of names; all tests without any.
    pub of: &'a [String],
    pub skipped: &'a [String],
    /// Whether the first failure ends the run.
    pub until_failure: bool,
}

impl Suite {
    fn command(&self, mutant: u64) -> Command {
        let mut command = Command::new(&self.tests);
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("GANTRY_PROGRAM_SO", &self.program)
            .env("GANTRY_MUTANT", mutant.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    /// The modules that have tests.
    pub fn modules(&self) -> Result<Vec<String>, String> {
        let output = self.command(0).args(["--list", "--format", "terse"]).output();
        let output = output.map_err(|e| format!("{}: {e}", self.tests.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut modules: Vec<String> = text
            .lines()
            .filter_map(|line| line.split_once("::"))
            .map(|(module, _)| module.to_owned())
            .collect();
        modules.dedup();
        match modules.is_empty() {
            true => Err(format!("{} has no tests", self.tests.display())),
            false => Ok(modules),
        }
    }

    pub fn run(&self, mutant: u64, which: Which, limit: Duration) -> Result<Outcome, String> {
        let mut command = self.command(mutant);
        command.args(which.of);
        for name in which.skipped {
            command.args(["--skip", name]);
        }
        let child = command.spawn().map_err(|e| format!("{}: {e}", self.tests.display()))?;
        watch(child, which.until_failure, Instant::now() + limit)
    }

    /// The substitution matrix of one instruction.
    pub fn matrix(&self, mutant: u64, instruction: &str, limit: Duration) -> Result<Outcome, String> {
        let mut command = self.command(mutant);
        command.args(["--exact", MATRIX]).env("GANTRY_MATRIX", instruction);
        let child = command.spawn().map_err(|e| format!("{}: {e}", self.tests.display()))?;
        watch(child, true, Instant::now() + limit)
    }

    /// The random sequences of the hostile harness, which `hostile` plays: the rule that they find broken.
    pub fn sequences(&self, hostile: &Path, mutant: u64, limit: Duration) -> Result<Outcome, String> {
        let child = Command::new(hostile)
            .args(["random-mutants", "hunt", &mutant.to_string()])
            .env("GANTRY_PROGRAM_SO", &self.program)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|e| format!("{}: {e}", hostile.display()))?;
        watch(child, true, Instant::now() + limit)
    }
}

/// Reads results until the tests end, one fails that ends the run, or the time is up.
fn watch(mut child: Child, until_failure: bool, end: Instant) -> Result<Outcome, String> {
    let output = child.stdout.take().ok_or("tests without output")?;
    let (lines, results) = channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    let (mut failed, mut ended) = (vec![], false);
    let lost = loop {
        match results.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                ended |= line.starts_with("test result:");
                if let Some(name) = failure(&line) {
                    failed.push(name.to_owned());
                    if until_failure {
                        break false;
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    drop(results);
    // It may have ended by now.
    let _ = child.kill();
    child.wait().map_err(|e| e.to_string())?;
    reader.join().map_err(|_| "the reader of the tests' output panicked")?;
    Ok(match (lost, failed.is_empty()) {
        (_, false) => Outcome::Failed(failed),
        (true, true) => Outcome::Lost("time limit"),
        (false, true) if ended => Outcome::Passed,
        (false, true) => Outcome::Lost("the tests end early"),
    })
}

/// The name of the test that a line of the output says has failed.
pub fn failure(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}
