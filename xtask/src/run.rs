//! Running other programs with a bound in time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kafka_assigner_rig::Process;

use crate::interrupt::Interrupt;

/// Runs `command` to its end and returns what it printed, on both of its outputs.
///
/// Output goes through a file, so a chatty program can't block on a pipe that nobody reads.
pub(crate) fn output(command: &mut Command, bound: Duration, interrupt: &Interrupt) -> Result<String> {
    let program = Path::new(command.get_program()).display().to_string();
    let log = tempfile::NamedTempFile::new()?;
    command.stdin(Stdio::null()).stdout(log.reopen()?).stderr(log.reopen()?);
    let mut process = Process::spawn(command).with_context(|| format!("failed to start {program}"))?;
    let status = interrupt.wait(&program, bound, || Ok(process.exit_status()?))?;
    let text = String::from_utf8_lossy(&fs::read(log.path())?).into_owned();
    if !status.success() {
        bail!("{program} ended with {status}:\n{}", text.trim_end());
    }
    Ok(text)
}

/// Everything built anew on two cores takes ten minutes.
const BUILD_BOUND: Duration = Duration::from_secs(30 * 60);

/// The profiles of the workspace with which programs are built.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Profile {
    /// For runs that judge what is done: quick to build.
    Release,
    /// As it is shipped, for runs whose figures are published.
    Dist,
}

impl Profile {
    /// Its name, which is also that of the folder of its programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// Builds the programs of these packages, and returns the folder where they are.
pub(crate) fn build(packages: &[&str], profile: Profile, interrupt: &Interrupt) -> Result<PathBuf> {
    build_with(packages, &[], profile, interrupt)
}

/// The same, with these features, as `package/feature`.
pub(crate) fn build_with(
    packages: &[&str],
    features: &[&str],
    profile: Profile,
    interrupt: &Interrupt,
) -> Result<PathBuf> {
    let mut command = Command::new("cargo");
    command.args(["build", "--profile", profile.name()]).current_dir(workspace());
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(features.iter().flat_map(|feature| ["--features", feature]));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut process = Process::spawn(&mut command).context("failed to start cargo")?;
    let status = interrupt.wait("cargo build", BUILD_BOUND, || Ok(process.exit_status()?))?;
    if !status.success() {
        bail!("cargo build ended with {status}");
    }
    Ok(workspace().join("target").join(profile.name()))
}

/// The workspace's root: this crate lies right below it.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace")
}
