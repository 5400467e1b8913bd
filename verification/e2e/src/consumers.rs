//! The consumers: processes of the example consumer, or of the example writer, which is one that takes requests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::NamedProcess;
use kafka_assigner_rig::consumers::LEAVE;
use kafka_assigner_types::mode::Mode;

use crate::arguments::Arguments;
use crate::load::TOPIC;

/// The group, here and in Kafka.
pub(crate) const GROUP: &str = "e2e";

/// How long handing over may take. At the end of the run nobody is left to take anything, and it takes that long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the journals of a consumer are.
#[derive(Debug, Clone)]
pub(crate) struct Journals {
    /// Records that it handled.
    pub(crate) handled: PathBuf,
    /// States that it gave up.
    pub(crate) states: PathBuf,
}

/// A running consumer.
#[derive(Debug)]
pub(crate) struct Consumer(NamedProcess);

impl Journals {
    fn of(name: &str, folder: &Path) -> Self {
        let path = |what: &str| folder.join(format!("{name}.{what}.jsonl"));
        Self { handled: path("handled"), states: path("states") }
    }
}

impl Consumer {
    /// Starts the consumer `name`, whose journals begin.
    pub(crate) fn start(name: &str, endpoints: &str, arguments: &Arguments) -> Result<(Self, Journals)> {
        let journals = Journals::of(name, &arguments.folder);
        let mut command = program(&journals, arguments);
        command.args(["--name", name, "--group", GROUP, "--endpoints", endpoints]);
        command.args(["--brokers", &arguments.kafka]);
        command.args(["--drain-timeout", &DRAIN_TIMEOUT.as_secs().to_string()]);
        command.arg("--log").arg(&journals.handled);
        let log = arguments.folder.join(format!("{name}.log"));
        Ok((Self(NamedProcess::start(name, command, log)?), journals))
    }

    /// Its name, unique in the run.
    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }

    /// How it calls its process in its journals.
    pub(crate) fn process(&self) -> String {
        format!("{}#{}", self.0.name(), self.0.id())
    }

    /// Asks it to leave.
    pub(crate) fn terminate(&self) -> Result<()> {
        self.0.terminate()
    }

    /// Waits until it has left in good order.
    pub(crate) async fn left(mut self) -> Result<()> {
        self.0.ends_well(LEAVE).await
    }

    /// Stops it from running.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.0.freeze()
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) -> Result<()> {
        self.0.thaw()
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        drop(self.0);
    }
}

/// Whatever consumes in this mode. Writers are asked for their states in other ways.
fn program(journals: &Journals, arguments: &Arguments) -> Command {
    if arguments.mode == Mode::Routed {
        let mut writer = Command::new(arguments.programs.join("kafka-assigner-example-writer"));
        writer.args(["--topic", TOPIC]);
        return writer;
    }
    let mut consumer = Command::new(arguments.programs.join("kafka-assigner-example-consumer"));
    consumer.args(["--topics", TOPIC]).arg("--states").arg(&journals.states);
    consumer
}
