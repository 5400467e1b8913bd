//! Servers that are away for a while: real instances and consumers on an etcd and a Kafka of the test's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use clap::Parser as _;
use kafka_assigner_audit::{Handled, Micros};
use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::{self as testkit, Etcd, EtcdConfig, Kafka, journal, topics, until};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use kafka_assigner_types::id::TopicPartition;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::arguments::Arguments;
use crate::consumers::{Consumer, GROUP, Journals};
use crate::instances::Instances;
use crate::load::{self, TOPIC};
use crate::scale::{SESSION_TIMEOUT, Scale};

/// Little work: what counts is that it goes on.
const SMALL: Scale = Scale {
    partitions: 4,
    interval: Duration::from_millis(50),
    records: 0,
    requests: 0,
    planned_moves: 0,
    rounds: 0,
};

/// Five times a session's life.
const AWAY: Duration = Duration::from_secs(30);

/// More than any loaded machine keeps a reader waiting, and far less than a claim that ended with its session's
/// time to live would leave of [`AWAY`].
const LONGEST_GAP: Duration = Duration::from_secs(8);

/// Whatever has to come, comes within this time: topics are looked up every ten seconds, JVMs start in some.
const PATIENCE: Duration = Duration::from_secs(90);

/// The line of an instance that can't reach Kafka.
const COMPLAINT: &str = "Kafka can't be asked";

/// Servers of one test with everything that runs on them.
struct Site {
    etcd: Etcd,
    kafka: Kafka,
    arguments: Arguments,
    observer: Observing,
    consumers: Vec<(Consumer, Journals)>,
    // Last, so that the others are gone before their files are.
    _folder: TempDir,
}

impl Site {
    /// An etcd, and a Kafka with the topic; `None` skips the test.
    async fn start() -> Option<Self> {
        let (binary, jars) = (testkit::etcd_binary()?, testkit::kafka_jars()?);
        let server = testkit::program("kafka-assigner")?;
        testkit::program("kafka-assigner-example-consumer")?;
        let (etcd, kafka) = tokio::task::block_in_place(|| {
            (Etcd::start(&EtcdConfig::new(binary)).unwrap(), Kafka::start(&jars).unwrap())
        });
        topics::create(&kafka.address(), TOPIC, SMALL.partitions).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let programs = server.parent().expect("programs are in a folder");
        let [programs, path] = &[programs, folder.path()].map(|path| path.display().to_string());
        let arguments = Arguments::parse_from([
            "e2e",
            "--etcd",
            &etcd.endpoint(),
            "--etcd-version",
            "",
            "--kafka",
            &kafka.address(),
            "--kafka-version",
            "",
            "--programs",
            programs,
            "--folder",
            path,
        ]);
        let store = EtcdStore::new(&EtcdOptions::new([&arguments.etcd])).unwrap();
        let observer = Observing::start(store, DEFAULT_PREFIX, GROUP).unwrap();
        Some(Self { etcd, kafka, arguments, observer, consumers: Vec::new(), _folder: folder })
    }

    fn join(&mut self, instances: &Instances) {
        let name = format!("worker-{}", self.consumers.len() + 1);
        self.consumers.push(Consumer::start(&name, &instances.endpoints(), &self.arguments).unwrap());
    }

    /// Waits until all consumers have even shares of so many partitions.
    async fn settle(&self, partitions: u32) {
        let consumers = self.consumers.len();
        let settled = || Ok(self.observer.look().is_settled(consumers, partitions).then_some(()));
        until("an even share for everybody", PATIENCE, settled).await.unwrap();
    }

    /// All that was handled so far.
    fn handled(&self) -> Vec<Handled> {
        self.consumers.iter().flat_map(|(_, of)| journal::read::<Handled>(&of.handled).unwrap()).collect()
    }

    /// Waits until each of so many partitions was handled after a moment.
    async fn handle(&self, partitions: usize, after: Micros) {
        let seen = || {
            let late = self.handled().into_iter().filter(|handled| handled.at > after);
            let slots: BTreeSet<TopicPartition> = late.map(|handled| handled.slot).collect();
            Ok((slots.len() == partitions).then_some(()))
        };
        until("a record of every partition", PATIENCE, seen).await.unwrap();
    }

    /// How often instances have complained about Kafka.
    fn complaints(&self) -> usize {
        let log = |id: &str| fs::read_to_string(self.arguments.folder.join(format!("{id}.log"))).unwrap();
        ["instance-1", "instance-2"].iter().map(|id| log(id).matches(COMPLAINT).count()).sum()
    }

    /// Waits until they have complained once more than `before`.
    async fn hear_a_complaint(&self, before: usize) {
        let heard = || Ok((self.complaints() > before).then_some(()));
        until("a word about Kafka", PATIENCE, heard).await.unwrap();
    }
}

/// The longest time between two records of one partition within a stretch of time, its ends included.
fn longest_gap(handled: &[Handled], from: Micros, to: Micros) -> Duration {
    let mut moments: BTreeMap<&TopicPartition, Vec<Micros>> = BTreeMap::new();
    for one in handled {
        let of_slot = moments.entry(&one.slot).or_insert_with(|| vec![from, to]);
        of_slot.extend((from..to).contains(&one.at).then_some(one.at));
    }
    let longest = moments.values_mut().map(|moments| {
        moments.sort_unstable();
        moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    });
    Duration::from_micros(longest.max().unwrap_or(to - from))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_seconds_without_etcd_cost_no_session_and_no_record_waits() {
    let Some(mut site) = Site::start().await else { return };
    let instances = Instances::start(&site.arguments).await.unwrap();
    let mut production = load::start(&site.arguments.kafka, &SMALL).unwrap();
    site.join(&instances);
    site.join(&instances);
    site.settle(4).await;
    site.handle(4, wall()).await;
    let settled = wall();

    site.etcd.kill();
    sleep(AWAY).await;
    tokio::task::block_in_place(|| site.etcd.restart()).unwrap();

    let back = wall();
    // Longer than a session that is not kept alive again would last.
    sleep(SESSION_TIMEOUT + Duration::from_secs(2)).await;
    let later = wall();
    site.handle(4, later).await;
    let handled = site.handled();
    assert!(longest_gap(&handled, settled, back) < LONGEST_GAP, "while etcd was away");
    assert!(longest_gap(&handled, back, later) < LONGEST_GAP, "when it was back");
    let grants = |handled: &Handled| (handled.slot.clone(), handled.epoch, handled.process.clone());
    let grants: BTreeSet<_> = handled.iter().filter(|handled| handled.at > settled).map(grants).collect();
    assert_eq!(grants.len(), 4, "every partition stays with its owner under its epoch: {grants:?}");

    site.join(&instances);
    site.settle(4).await;
    production.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kafka_that_is_away_is_named_and_found_when_it_comes() {
    let Some(mut site) = Site::start().await else { return };
    site.kafka.kill();

    let instances = Instances::start(&site.arguments).await.unwrap();
    site.join(&instances);
    site.hear_a_complaint(0).await;
    assert!(site.observer.look().state.assignments().is_empty(), "nothing is known of any partition");

    tokio::task::block_in_place(|| site.kafka.restart()).unwrap();
    let mut production = load::start(&site.arguments.kafka, &SMALL).unwrap();
    site.settle(4).await;
    site.handle(4, 0).await;

    let before = site.complaints();
    site.kafka.kill();
    site.hear_a_complaint(before).await;
    site.settle(4).await;
    tokio::task::block_in_place(|| site.kafka.restart()).unwrap();

    topics::grow(&site.arguments.kafka, TOPIC, 6).await.unwrap();
    site.settle(6).await;
    site.handle(4, wall()).await;
    production.stop().await.unwrap();
}
