//! The consumers: processes of the example consumer, or of the example writer, which is one that takes requests.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::Process;
use kafka_assigner_types::mode::Mode;

use crate::arguments::Arguments;
use crate::moment::until;
use crate::topic;

/// The group, here and in Kafka.
pub(crate) const GROUP: &str = "e2e";

/// How long handing over may take. At the end of the run nobody is left to take anything, and it takes that long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Handing over, then giving up what nobody took, each with its own bound in the consumer.
const STOP: Duration = Duration::from_secs(45);

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
pub(crate) struct Consumer {
    name: String,
    process: Process,
}

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
        let log = File::create(arguments.folder.join(format!("{name}.log")))?;
        let mut command = program(&journals, arguments);
        command.args(["--name", name, "--group", GROUP, "--endpoints", endpoints]);
        command.args(["--brokers", &arguments.kafka]);
        command.args(["--drain-timeout", &DRAIN_TIMEOUT.as_secs().to_string()]);
        command.arg("--log").arg(&journals.handled);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = Process::spawn(&mut command).with_context(|| format!("{name} can't be started"))?;
        Ok((Self { name: name.to_owned(), process }, journals))
    }

    /// Its name, unique in the run.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How it calls its process in its journals.
    pub(crate) fn process(&self) -> String {
        format!("{}#{}", self.name, self.process.id())
    }

    /// Asks it to leave.
    pub(crate) fn terminate(&self) -> Result<()> {
        self.process.terminate().with_context(|| format!("{} is gone", self.name))
    }

    /// Waits until it has left.
    pub(crate) async fn left(mut self) -> Result<()> {
        let what = format!("the departure of {}", self.name);
        let status = until(&what, STOP, || Ok(self.process.exit_status()?)).await?;
        if !status.success() {
            bail!("{} ended with {status}", self.name);
        }
        Ok(())
    }

    /// Stops it from running.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.process.freeze().with_context(|| format!("{} is gone", self.name))
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) -> Result<()> {
        self.process.thaw().with_context(|| format!("{} is gone", self.name))
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        drop(self.process);
    }
}

/// Whatever consumes in this mode. Writers are asked for their states in other ways.
fn program(journals: &Journals, arguments: &Arguments) -> Command {
    if arguments.mode == Mode::Routed {
        let mut writer = Command::new(arguments.programs.join("kafka-assigner-example-writer"));
        writer.args(["--topic", topic::NAME]);
        return writer;
    }
    let mut consumer = Command::new(arguments.programs.join("kafka-assigner-example-consumer"));
    consumer.args(["--topics", topic::NAME]).arg("--states").arg(&journals.states);
    consumer
}
