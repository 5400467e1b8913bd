//! The Java sides of comparisons: compiled here, run with the classes of a Kafka.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::interrupt::Interrupt;
use crate::run;

/// A few short files.
const BOUND: Duration = Duration::from_secs(120);

/// Compiles the folder `java` of the crate in `folder`, and returns where Java finds its classes and Kafka's.
pub(super) fn compile(folder: &str, jars: &Path, interrupt: &Interrupt) -> Result<OsString> {
    let jars = jars.join("*");
    let classes = run::workspace().join("target").join(folder).join("classes");
    fs::create_dir_all(&classes)?;
    let mut command = Command::new("javac");
    // A constructor that is on its way out is the only one that all versions of Kafka have.
    command.args(["-nowarn", "-Xlint:-removal", "-d"]).arg(&classes).arg("-cp").arg(&jars);
    command.args(sources(folder)?);
    run::output(&mut command, BOUND, interrupt).context("a JDK is needed, of Java 17 or newer")?;
    Ok(std::env::join_paths([classes, jars])?)
}

fn sources(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = run::workspace().join("verification").join(folder).join("java");
    let files = fs::read_dir(&folder).with_context(|| format!("failed to look into {}", folder.display()))?;
    let mut files = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_side_is_compiled() {
        for (folder, main) in [("compare", "Compare.java"), ("gap", "Member.java")] {
            let sources = sources(folder).unwrap();
            assert!(sources.iter().any(|file| file.ends_with(main)));
            assert!(sources.iter().all(|file| file.extension().is_some_and(|extension| extension == "java")));
        }
    }
}
