//! etcd: one static program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::cache::Entry;
use super::origin::Origin;
use super::search::on_path;
use crate::interrupt::Interrupt;
use crate::run;

/// The version that is built where nothing is found.
const BUILT_VERSION: &str = "3.7.3";

/// Fetching takes seconds and building a minute on two cores; slow networks and machines get ten times that.
const BUILD_BOUND: Duration = Duration::from_secs(600);

/// The oldest patch releases that the store takes; it refuses older ones, see `docs/design/etcd.md`.
const OLDEST: [[u32; 3]; 2] = [[3, 4, 25], [3, 5, 8]];

/// Debian's package is 8 MB.
const DEBIAN_BOUND: Duration = Duration::from_secs(180);

/// Printing a version takes milliseconds.
const VERSION_BOUND: Duration = Duration::from_secs(30);

/// An etcd program that runs on this machine.
#[derive(Debug)]
pub(crate) struct Etcd {
    /// The path of the program.
    pub(crate) binary: PathBuf,
    /// The version that it tells about itself.
    pub(crate) version: String,
    /// The way in which it was found or made.
    pub(crate) origin: Origin,
}

impl Etcd {
    /// Finds etcd or makes it.
    pub(crate) fn provide(interrupt: &Interrupt) -> Result<Self> {
        let (binary, origin) = find().map_or_else(|| make(interrupt), Ok)?;
        let version = version(&binary, interrupt)?;
        if !is_supported(&version) {
            bail!("{} is etcd {version}: the store needs 3.4.25, 3.5.8 or newer", binary.display());
        }
        Ok(Self { binary, version, origin })
    }
}

fn find() -> Option<(PathBuf, Origin)> {
    if let Some(named) = std::env::var_os("ETCD_BIN") {
        return Some((named.into(), Origin::Variable("ETCD_BIN")));
    }
    if let Some(found) = on_path("etcd") {
        return Some((found, Origin::Path));
    }
    let cached = built().existing().or_else(|| debian().existing())?;
    Some((cached.join("etcd"), Origin::Cache))
}

fn built() -> Entry {
    Entry::new("etcd-3.7.3")
}

fn debian() -> Entry {
    Entry::new("etcd-debian")
}

/// Builds etcd with Go, or else unpacks Debian's package; neither changes anything outside the cache.
fn make(interrupt: &Interrupt) -> Result<(PathBuf, Origin)> {
    let go = match build(interrupt) {
        Ok(folder) => return Ok((folder.join("etcd"), Origin::Made("built with Go"))),
        Err(error) => error,
    };
    interrupt.check()?;
    let apt = match unpack(interrupt) {
        Ok(folder) => return Ok((folder.join("etcd"), Origin::Made("unpacked from Debian's package"))),
        Err(error) => error,
    };
    interrupt.check()?;
    Err(anyhow!(
        "no etcd: set ETCD_BIN, or install etcd 3.5.8 or newer, or Go 1.26 to build it (with Go: {go:#}; with apt-get: {apt:#})"
    ))
}

fn build(interrupt: &Interrupt) -> Result<PathBuf> {
    build_part(&built(), "etcd", "go.etcd.io/etcd/server/v3", interrupt)
}

/// Fills `entry` with `program`, built from one of etcd's modules. A throw-away module requires it: `go install` refuses
/// etcd's for their replace directives.
pub(super) fn build_part(entry: &Entry, program: &str, part: &str, interrupt: &Interrupt) -> Result<PathBuf> {
    if on_path("go").is_none() {
        bail!("go is not on the PATH");
    }
    eprintln!("building {program} {BUILT_VERSION} with Go (about a minute, once)");
    entry.fill(|folder| {
        let module = folder.join("module");
        fs::create_dir(&module)?;
        let requirement = format!("{part}@v{BUILT_VERSION}");
        let output = ["build", "-o", &format!("../{program}"), part];
        for arguments in [&["mod", "init", "throwaway"][..], &["get", &requirement], &output] {
            let mut command = Command::new("go");
            command.args(arguments).current_dir(&module).env("CGO_ENABLED", "0");
            run::output(&mut command, BUILD_BOUND, interrupt)?;
        }
        Ok(fs::remove_dir_all(&module)?)
    })
}

/// Unpacked, not installed: installing it would start a server on etcd's own ports.
fn unpack(interrupt: &Interrupt) -> Result<PathBuf> {
    if on_path("apt-get").is_none() || on_path("dpkg-deb").is_none() {
        bail!("this is not a Debian machine");
    }
    eprintln!("fetching Debian's etcd");
    debian().fill(|folder| {
        let mut download = Command::new("apt-get");
        download.args(["download", "etcd-server"]).current_dir(folder);
        run::output(&mut download, DEBIAN_BOUND, interrupt)?;
        let package = only_file(folder)?;
        let mut extract = Command::new("dpkg-deb");
        extract.arg("-x").arg(&package).arg(folder.join("package"));
        run::output(&mut extract, DEBIAN_BOUND, interrupt)?;
        fs::rename(folder.join("package/usr/bin/etcd"), folder.join("etcd"))?;
        fs::remove_dir_all(folder.join("package"))?;
        Ok(fs::remove_file(package)?)
    })
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)?.next().context("apt-get left no package")?;
    Ok(entry?.path())
}

fn version(binary: &Path, interrupt: &Interrupt) -> Result<String> {
    let text = run::output(Command::new(binary).arg("--version"), VERSION_BOUND, interrupt)?;
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: "));
    Ok(version.with_context(|| format!("{} does not look like etcd", binary.display()))?.trim().to_owned())
}

/// True if a version is one of the [`OLDEST`] or a later release of its line, or of a later line.
fn is_supported(version: &str) -> bool {
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    let [_, last] = OLDEST;
    parts[..] >= last[..]
        || OLDEST.iter().any(|oldest| parts.starts_with(&oldest[..2]) && parts[..] >= oldest[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_would_refuse_is_not_taken() {
        for version in ["3.4.25", "3.5.8", "3.5.21", "3.6.0", "3.7.0-rc.1", "3.7.3"] {
            assert!(is_supported(version), "{version}");
        }
        for version in ["3.4.23", "3.5.7", "3.3.27", "unknown"] {
            assert!(!is_supported(version), "{version}");
        }
    }
}
