//! The members: processes, whatever system they belong to.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::{NamedProcess, consumers};

use crate::arguments::Measure;
use crate::check::Who;
use crate::history::{Line, Reader};
use crate::system::Kind;

/// The settings that all members of a group have in common.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) kind: Kind,
    /// The group and the topic, which are called alike.
    pub(crate) group: String,
    pub(crate) rebuild: Duration,
    pub(crate) keeps_names: bool,
    /// The address of the instance; of use to this project's members only.
    pub(crate) endpoint: String,
}

/// A running member; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) who: Who,
    history: Reader,
    process: NamedProcess,
}

impl Member {
    /// Starts one; `version` is that of the program, as a deployment would have it.
    pub(crate) fn start(who: Who, version: u32, of: &Membership, arguments: &Measure) -> Result<Self> {
        let name = format!("member-{}", who.name);
        let file = |kind: &str| arguments.folder.join(format!("{}-{}-{name}.{kind}", of.group, who.process));
        let (history, log) = (file("history"), file("log"));
        let reader = Reader::open(&history)?;
        let command = match of.kind {
            Kind::Ours { .. } => ours(&name, version, of, arguments, &history)?,
            Kind::Java { properties } => java(&name, properties, of, arguments, &history),
        };
        Ok(Self { who, history: reader, process: NamedProcess::start(name, command, log)? })
    }

    /// The lines that it has written since the last call.
    ///
    /// # Errors
    /// When it has ended by itself.
    pub(crate) fn read(&mut self) -> Result<Vec<Line>> {
        self.process.must_run()?;
        self.history.read()
    }

    /// Asks it to leave, waits until it has, and returns the rest of what it has written.
    pub(crate) async fn leave(mut self) -> Result<Vec<Line>> {
        consumers::leave(&mut self.process).await?;
        self.history.read()
    }

    /// Kills it, and returns the rest of what it has written.
    pub(crate) fn kill(self) -> Result<Vec<Line>> {
        let Self { process, mut history, .. } = self;
        drop(process);
        history.read()
    }
}

/// This very program.
fn ours(name: &str, version: u32, of: &Membership, arguments: &Measure, history: &Path) -> Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["consume", "--name", name, "--group", &of.group, "--topic", &of.group]);
    command.args(["--endpoint", &of.endpoint, "--kafka", &arguments.kafka]);
    command.args(["--generation", &version.to_string()]);
    command.args(["--rebuild-ms", &of.rebuild.as_millis().to_string()]);
    command.arg("--history").arg(history).args(of.keeps_names.then_some("--restart"));
    Ok(command)
}

fn java(name: &str, properties: &[&str], of: &Membership, arguments: &Measure, history: &Path) -> Command {
    let mut command = Command::new("java");
    command.args(["-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp"]);
    command.arg(&arguments.classpath).arg("Member");
    command.arg(&of.group).arg(history).arg(of.rebuild.as_millis().to_string());
    command.arg(format!("bootstrap.servers={}", arguments.kafka)).arg(format!("group.id={}", of.group));
    command.args(of.keeps_names.then(|| format!("group.instance.id={name}"))).args(properties);
    command
}
