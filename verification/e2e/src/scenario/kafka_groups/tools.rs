//! Both programs that describe a group.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::scenario::settings::Settings;

/// A type of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupType {
    Classic,
    Consumer,
    Share,
    Streams,
}

impl GroupType {
    pub(super) const ALL: [Self; 4] = [Self::Classic, Self::Consumer, Self::Share, Self::Streams];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
            Self::Share => "share",
            Self::Streams => "streams",
        }
    }

    /// The group, whose topic has its name.
    pub(super) const fn group(self) -> &'static str {
        match self {
            Self::Classic => "groups-classic",
            Self::Consumer => "groups-consumer",
            Self::Share => "groups-share",
            Self::Streams => "groups-streams",
        }
    }

    /// The members that there are.
    const fn members(self) -> usize {
        match self {
            Self::Classic | Self::Consumer => 2,
            Self::Share | Self::Streams => 1,
        }
    }

    /// The main class of Kafka's tool.
    const fn class(self) -> &'static str {
        match self {
            Self::Classic | Self::Consumer => "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            Self::Share => "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
            Self::Streams => "org.apache.kafka.tools.streams.StreamsGroupCommand",
        }
    }
}

/// A view of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    part: &'static str,
    is_verbose: bool,
}

impl View {
    pub(super) const ALL: [Self; 6] = [
        Self { part: "--offsets", is_verbose: false },
        Self { part: "--offsets", is_verbose: true },
        Self { part: "--members", is_verbose: false },
        Self { part: "--members", is_verbose: true },
        Self { part: "--state", is_verbose: false },
        Self { part: "--state", is_verbose: true },
    ];

    fn flags(self) -> impl Iterator<Item = &'static str> {
        [self.part].into_iter().chain(self.is_verbose.then_some("--verbose"))
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flags().collect::<Vec<_>>().join(" "))
    }
}

/// The programs, with the way to Kafka.
#[derive(Debug)]
pub(super) struct GroupTools<'a> {
    program: PathBuf,
    jars: &'a Path,
    kafka: &'a str,
}

impl<'a> GroupTools<'a> {
    pub(super) fn new(settings: &'a Settings, jars: &'a Path) -> Self {
        Self { program: settings.programs.join("kafka-assigner"), jars, kafka: &settings.kafka }
    }

    /// The output of this project's program.
    pub(super) fn ours(&self, kind: GroupType, view: View) -> Result<String> {
        let mut command = self.describe(kind);
        command.args(view.flags());
        output(command)
    }

    /// The output of Kafka's tool.
    pub(super) fn kafkas(&self, kind: GroupType, view: View) -> Result<String> {
        let mut command = Command::new("java");
        command.args(["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"]).arg(self.jars.join("*"));
        command.args([kind.class(), "--bootstrap-server", self.kafka, "--timeout", "30000"]);
        command.args(["--describe", "--group", kind.group()]).args(view.flags());
        output(command)
    }

    /// True if the group has its members, and stands.
    pub(super) fn is_settled(&self, kind: GroupType) -> Result<bool> {
        let mut command = self.describe(kind);
        command.args(["--members", "-o", "json"]);
        // Where it is not there yet, the command fails.
        let Ok(text) = output(command) else { return Ok(false) };
        let group: serde_json::Value = serde_json::from_str(&text)?;
        let members = group["members"].as_array().map_or(0, Vec::len);
        Ok(group["state"] == "Stable" && members == kind.members())
    }

    fn describe(&self, kind: GroupType) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["kafka-groups", "describe", kind.group(), "--kafka", self.kafka]);
        command
    }
}

/// The standard output of a program that ends by itself: each has deadlines of its own.
fn output(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("a program could not be started")?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
