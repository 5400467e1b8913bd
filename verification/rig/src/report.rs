//! The lines that a run prints: what happens, what failed, and the report at the end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Prints what happens, each with the seconds since the beginning.
#[derive(Debug)]
pub struct Narrator {
    begin: Instant,
    is_quiet: bool,
}

impl Narrator {
    /// A narrator from now on; a quiet one prints nothing.
    #[must_use]
    pub fn new(is_quiet: bool) -> Self {
        Self { begin: Instant::now(), is_quiet }
    }

    /// The time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Prints a line.
    pub fn tell(&self, text: &str) {
        if !self.is_quiet {
            println!("{:>7.1} s  {text}", self.elapsed().as_secs_f64());
        }
    }
}

/// Prints what failed on the standard error, and the report as the last line of the output: one line of JSON. The code is
/// that of a failure where anything failed.
///
/// # Panics
/// When the report can't be JSON.
pub fn conclude(failures: &[String], report: &impl Serialize) -> ExitCode {
    for failure in failures {
        eprintln!("FAILED: {failure}");
    }
    println!("{}", serde_json::to_string(report).expect("a report has no map with keys that are no text"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
