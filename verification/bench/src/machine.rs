//! The machine on which the figures were measured.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// The machine, and the commit that was built.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    cores: usize,
    processor: String,
    memory_gib: u64,
    linux: String,
    /// Processes that wanted to run over the last minute: other people's work, for the most part.
    load: String,
    commit: String,
}

impl Machine {
    /// Asks the system.
    pub(crate) fn look() -> Result<Self> {
        Ok(Self {
            cores: available_parallelism()?.get(),
            processor: field("/proc/cpuinfo", "model name")?,
            memory_gib: kib("/proc/meminfo", "MemTotal")? / (1024 * 1024),
            linux: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            load: read("/proc/loadavg")?.split(' ').next().unwrap_or_default().to_owned(),
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, processor, memory_gib, linux, load, commit } = self;
        write!(
            f,
            "{cores} cores ({processor}), {memory_gib} GiB, Linux {linux}, load {load}, commit {commit}"
        )
    }
}

/// The resident memory of a process in KiB.
pub(crate) fn resident_kib(process: u32) -> Result<u64> {
    kib(&format!("/proc/{process}/status"), "VmRSS")
}

/// The unit of the times in `/proc/PID/stat`: Linux has counted in hundredths of a second for programs ever since.
const TICK: Duration = Duration::from_millis(10);

/// The time for which a process has used a processor, in user and in system mode.
pub(crate) fn processor_time(process: u32) -> Result<Duration> {
    let file = format!("/proc/{process}/stat");
    let text = read(&file)?;
    // The name of the program, in parentheses, may hold blanks; the numbers are the 14th and 15th field.
    let (_, fields) = text.rsplit_once(')').with_context(|| format!("{file} names no program"))?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>().with_context(|| format!("{file} tells no times"))?;
    Ok(TICK * u32::try_from(ticks)?)
}

/// `MemTotal:       24689764 kB`
fn kib(file: &str, name: &str) -> Result<u64> {
    let text = field(file, name)?;
    let number = text.strip_suffix(" kB").with_context(|| format!("{file}: {name} is no size"))?;
    Ok(number.parse()?)
}

/// The first `name : value` of a file of the system's.
fn field(file: &str, name: &str) -> Result<String> {
    let text = read(file)?;
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    value.with_context(|| format!("{file} tells no {name}"))
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("failed to read {file}"))
}

fn commit() -> Option<String> {
    let told = Command::new("git").args(["describe", "--always", "--dirty"]).output().ok()?;
    told.status.success().then(|| String::from_utf8_lossy(&told.stdout).trim().to_owned())
}
