//! Apache Kafka: a folder of jars, run with Java.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::cache::Entry;
use super::origin::Origin;
use super::search::on_path;
use crate::interrupt::Interrupt;
use crate::run;

/// The version that is fetched where nothing is found.
const FETCHED_VERSION: &str = "4.4.0";

/// 43 MB; a slow network gets minutes.
const FETCH_BOUND: Duration = Duration::from_secs(600);

/// Starting a Java machine takes less than a second.
const VERSION_BOUND: Duration = Duration::from_secs(30);

/// A Kafka that runs on this machine.
#[derive(Debug)]
pub(crate) struct Kafka {
    /// The folder with its jars.
    pub(crate) jars: PathBuf,
    /// The version in the names of the jars.
    pub(crate) version: String,
    /// The way in which it was found or made.
    pub(crate) origin: Origin,
}

impl Kafka {
    /// Finds Kafka or fetches it, and makes sure that there is a Java to run it.
    pub(crate) fn provide(interrupt: &Interrupt) -> Result<Self> {
        check_java(interrupt)?;
        let (jars, origin) = find().map_or_else(|| fetch(interrupt), Ok)?;
        let version = version(&jars)?;
        Ok(Self { jars, version, origin })
    }
}

fn check_java(interrupt: &Interrupt) -> Result<()> {
    let java = run::output(Command::new("java").arg("-version"), VERSION_BOUND, interrupt);
    java.context("no Java: install Java 17 or newer (Debian: openjdk-17-jre-headless)")?;
    Ok(())
}

fn find() -> Option<(PathBuf, Origin)> {
    if let Some(home) = std::env::var_os("KAFKA_HOME") {
        return Some((PathBuf::from(home).join("libs"), Origin::Variable("KAFKA_HOME")));
    }
    if let Some(jars) = on_path("kafka-server-start.sh").and_then(|script| jars_beside(&script)) {
        return Some((jars, Origin::Path));
    }
    Some((entry().existing()?, Origin::Cache))
}

/// Kafka's scripts live in `bin`, its jars in `libs` beside it; the one on the PATH may be a link.
fn jars_beside(script: &Path) -> Option<PathBuf> {
    let home = script.canonicalize().ok()?.parent()?.parent()?.to_owned();
    Some(home.join("libs")).filter(|jars| jars.is_dir())
}

fn entry() -> Entry {
    Entry::new("kafka-4.4.0")
}

fn fetch(interrupt: &Interrupt) -> Result<(PathBuf, Origin)> {
    let advice = "no Kafka: set KAFKA_HOME, or install Maven to fetch it";
    if on_path("mvn").is_none() {
        bail!("{advice} (mvn is not on the PATH)");
    }
    eprintln!("fetching Kafka {FETCHED_VERSION} with Maven");
    let jars = entry().fill(|folder| copy_jars(folder, &["kafka_2.13"], interrupt)).context(advice)?;
    Ok((jars, Origin::Made("fetched with Maven")))
}

/// Fetches artifacts of Kafka's, with all that they need, into `folder`.
pub(super) fn copy_jars(folder: &Path, artifacts: &[&str], interrupt: &Interrupt) -> Result<()> {
    let project = folder.join("pom.xml");
    fs::write(&project, pom(artifacts))?;
    let mut command = Command::new("mvn");
    command.args(["-q", "-B", "dependency:copy-dependencies"]).current_dir(folder);
    command.arg(format!("-DoutputDirectory={}", folder.display()));
    run::output(&mut command, FETCH_BOUND, interrupt)?;
    Ok(fs::remove_file(project)?)
}

/// A throw-away project that depends on the artifacts, and on a logger that prints: without one they are mute.
fn pom(artifacts: &[&str]) -> String {
    let dependency = |group: &str, artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>"
        )
    };
    let kafka = |artifact: &&str| dependency("org.apache.kafka", artifact, FETCHED_VERSION);
    let kafka: String = artifacts.iter().map(kafka).collect();
    let logger = dependency("org.slf4j", "slf4j-simple", "1.7.36");
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>throwaway</groupId>\
         <artifactId>throwaway</artifactId><version>1</version>\
         <dependencies>{kafka}{logger}</dependencies></project>"
    )
}

/// The version in the broker's jar, `kafka_<Scala>-<version>.jar`.
fn version(jars: &Path) -> Result<String> {
    let entries = fs::read_dir(jars).with_context(|| format!("failed to look into {}", jars.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let version = names.filter_map(|name| broker_version(&name)).next();
    version.with_context(|| format!("{} has no jar of the Kafka broker", jars.display()))
}

fn broker_version(jar: &str) -> Option<String> {
    let (_, version) = jar.strip_prefix("kafka_")?.strip_suffix(".jar")?.split_once('-')?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_brokers_jar_tells_the_version() {
        assert_eq!(broker_version("kafka_2.13-4.4.0.jar").as_deref(), Some("4.4.0"));
        assert_eq!(broker_version("kafka_2.13-test.jar"), None);
        assert_eq!(broker_version("kafka-clients-4.4.0.jar"), None);
    }
}
