//! Both sides of a cell: a program each, in a process of its own that is ended when its time is up.

use std::env;
use std::ffi::OsString;
use std::io::{PipeReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kafka_assigner_rig::Process;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cell::{Cell, Measured};
use crate::digest::Digest;
use crate::shape::Subscriptions;

/// The time that a side gets for a cell: to make the group, to settle it, to warm up, and for five runs.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The interval at which the end of a process is looked for.
const POLL: Duration = Duration::from_millis(5);

/// The result of Kafka's side of a cell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct KafkaMeasured {
    pub(crate) ms: f64,
    pub(crate) moves: usize,
    pub(crate) digest: Digest,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer<T> {
    /// It told something.
    Told(T),
    /// It took longer than the limit.
    TimedOut,
}

impl<T> Answer<T> {
    pub(crate) fn told(&self) -> Option<&T> {
        match self {
            Self::Told(told) => Some(told),
            Self::TimedOut => None,
        }
    }
}

/// Measures our side, with this very program.
pub(crate) fn ours(cell: &Cell) -> Result<Answer<Measured>> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("cell").args(cell.arguments());
    ask(command, LIMIT).with_context(|| format!("our side of {cell}"))
}

/// Kafka's side: where its classes and those of `java/` are, as Java takes it.
#[derive(Debug, Clone)]
pub(crate) struct Kafka {
    pub(crate) java: OsString,
    pub(crate) classpath: OsString,
}

impl Kafka {
    /// True if Kafka has a class for the cell.
    pub(crate) fn has(cell: &Cell) -> bool {
        let rivals = ["range", "roundrobin", "sticky", "cooperative-sticky", "balanced"];
        rivals.contains(&&*cell.strategy) && cell.shape.subscriptions != Subscriptions::Everything
    }

    /// Measures Kafka's side within `limit`.
    pub(crate) fn measure(&self, cell: &Cell, limit: Duration) -> Result<Answer<KafkaMeasured>> {
        let mut command = Command::new(&self.java);
        // The sticky assignors log what they come to, which takes longer than coming to it.
        command.args(["-Xmx4g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"]).arg(&self.classpath);
        command.arg("Compare").args(cell.arguments()).arg(limit.as_millis().to_string());
        ask(command, limit).with_context(|| format!("Kafka's side of {cell}"))
    }
}

/// Runs `command`, which prints one JSON object.
fn ask<T: DeserializeOwned>(mut command: Command, limit: Duration) -> Result<Answer<T>> {
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer);
    let mut process = Process::spawn(&mut command).context("failed to start")?;
    // It holds the pipe's other end, which must close for the output to end.
    drop(command);
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = process.exit_status()? {
            break status;
        }
        if Instant::now() >= deadline {
            return Ok(Answer::TimedOut);
        }
        thread::sleep(POLL);
    };
    if !status.success() {
        bail!("ended with {status}");
    }
    Ok(Answer::Told(only_line(reader)?))
}

/// The output is shorter than a pipe is long, so that it is all there at the end of the process.
fn only_line<T: DeserializeOwned>(mut reader: PipeReader) -> Result<T> {
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    serde_json::from_str(&text).with_context(|| format!("it printed {:?}", text.trim_end()))
}

#[cfg(test)]
#[path = "side_test.rs"]
mod tests;
