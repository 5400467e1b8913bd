//! The servers, and the readers that are started next to them.

use std::cell::Cell;
use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::{SetGroupConfigRequest, SetTopicRequest, Topic};
use kafka_assigner_rig::{NamedProcess, until};
use tempfile::TempDir;

use super::case::Case;
use super::reader::Side;
use super::records;
use crate::child::{self, Child};

/// The instance has keys of its own.
const PREFIX: &str = "/bench/client/";

/// The longest wait for a line of a reader. On a busy machine a thousand partitions begin within half a minute.
const LINE: Duration = Duration::from_secs(120);

/// The broker has two files and a reader one connection for each of thousands of partitions.
const FILES: usize = 16_000;

/// The running servers.
#[derive(Debug, clap::Args)]
pub(crate) struct ServersOfRun {
    /// The URL of an etcd that nobody else uses.
    #[arg(long, value_name = "URL")]
    etcd: String,
    /// A broker that nobody else uses, as "host:port".
    #[arg(long, value_name = "ADDRESS")]
    kafka: String,
    /// The id of the broker's process, whose CPU time is measured.
    #[arg(long, value_name = "PID")]
    broker_process: u32,
}

/// The place of all readers.
#[derive(Debug)]
pub(super) struct Stage {
    servers: ServersOfRun,
    instance: Child,
    folder: TempDir,
    readers: Cell<u32>,
}

/// A reading process.
#[derive(Debug)]
pub(super) struct RunningReader {
    process: NamedProcess,
    /// The lines that were waited for.
    passed: usize,
}

impl Stage {
    /// Starts an instance.
    pub(super) async fn set(servers: ServersOfRun) -> Result<Self> {
        child::allow_connections(FILES)?;
        let instance = Child::start("instance", &[&servers.etcd, PREFIX]).await?;
        let folder = tempfile::Builder::new().prefix("kafka-assigner-bench-").tempdir()?;
        Ok(Self { servers, instance, folder, readers: Cell::default() })
    }

    /// The broker's process.
    pub(super) const fn broker(&self) -> u32 {
        self.servers.broker_process
    }

    /// Makes the topic of a case, with its records.
    pub(super) async fn provide(&self, case: Case) -> Result<()> {
        records::provide(&self.servers.kafka, case).await
    }

    /// Starts a reader in a group of its own, which has begun nowhere.
    pub(super) async fn start(&self, side: Side, case: Case) -> Result<RunningReader> {
        let number = self.readers.get();
        self.readers.set(number + 1);
        let group = format!("reader-{number}");
        if side == Side::Ours {
            create_group(&self.instance.address, &group, case).await?;
        }
        let mut command = Command::new(env::current_exe()?);
        let [side, case] =
            [side.to_possible_value(), case.to_possible_value()].map(Option::unwrap_or_default);
        command.arg("reader").args([side.get_name(), case.get_name()]);
        command.args([&self.servers.kafka, &self.instance.address, &group]);
        let log = self.folder.path().join(&group);
        Ok(RunningReader { process: NamedProcess::start(group, command, log)?, passed: 0 })
    }
}

async fn create_group(instance: &str, group: &str, case: Case) -> Result<()> {
    let mut admin = AdminClient::connect(instance.to_owned()).await?;
    let request = SetGroupConfigRequest { group: group.to_owned(), config: None, owners_stopped: false };
    admin.set_group_config(request).await?;
    let (topic, partitions) = (case.topic().to_owned(), case.partitions());
    let topic = Topic { topic, partitions, ..Topic::default() };
    admin.set_topic(SetTopicRequest { group: group.to_owned(), topic: Some(topic) }).await?;
    Ok(())
}

impl RunningReader {
    /// The id of the process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next line that is `word`, alone or with a number, which is returned.
    pub(super) async fn line(&mut self, word: &str) -> Result<Option<u64>> {
        let what = format!("the line \"{word}\" of a reader");
        let (number, line) = until(&what, LINE, || {
            self.process.must_run()?;
            Ok(find(&self.process.log(), self.passed, word))
        })
        .await?;
        self.passed = line + 1;
        Ok(number)
    }

    /// The same with its number.
    pub(super) async fn number(&mut self, word: &str) -> Result<u64> {
        self.line(word).await?.with_context(|| format!("\"{word}\" comes without a number"))
    }
}

/// The first line from `passed` on that is `word`, with its number and its place. A line that is not whole does not count.
fn find(log: &str, passed: usize, word: &str) -> Option<(Option<u64>, usize)> {
    let whole = &log[..=log.rfind('\n')?];
    whole.lines().enumerate().skip(passed).find_map(|(place, line)| {
        let (first, number) = line.split_once(' ').map_or((line, None), |(first, rest)| (first, Some(rest)));
        (first == word).then(|| (number.and_then(|number| number.parse().ok()), place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_word_behind_those_that_were_passed() {
        let log = "ready\nrest\nrested 17\nrest\nrested 1";
        assert_eq!(find(log, 0, "rest"), Some((None, 1)));
        assert_eq!(find(log, 2, "rest"), Some((None, 3)));
        assert_eq!(find(log, 2, "rested"), Some((Some(17), 2)));
        assert_eq!(find(log, 3, "rested"), None, "the last line is not whole");
    }
}
