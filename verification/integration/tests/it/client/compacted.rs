//! A topic of which compaction removes records while its partition moves.

use std::time::{Duration, Instant};

use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner, RunnerHandle};
use kafka_assigner_client::{Epoch, TopicPartition};
use kafka_assigner_proto::v1::Snapshot;
use kafka_assigner_rig::Kafka;

use super::broker::Broker;
use super::keyed::{Keyed, Table};
use super::strict::assign;
use super::{PATIENCE, Running, options};
use crate::fake::{Asked, Fake};

/// A broker that looks for what can be compacted ten times a second.
const TIDY: [&str; 1] = ["log.cleaner.backoff.ms=100"];

/// The time of the first record, in milliseconds; any is right.
const FIRST: i64 = 1_000_000_000_000;

/// Where the old owner stops.
const START: i64 = 40;

/// What was written, and what it amounts to.
#[derive(Debug, Default)]
struct Written {
    next: i64,
    table: Table,
}

impl Written {
    /// Writes a value, or a tombstone, for each of these keys.
    async fn write(&mut self, broker: &Broker, keys: &[u64], is_tombstone: bool) {
        let value = |(key, next): (&u64, u64)| (format!("key-{key}"), (!is_tombstone).then_some(next));
        let records: Vec<_> = keys.iter().zip(self.next.cast_unsigned()..).map(value).collect();
        broker.write_keyed(FIRST + self.next * 1_000, &records).await;
        self.next += i64::try_from(records.len()).expect("few");
        for (key, value) in records {
            match value {
                Some(value) => self.table.insert(key, value),
                None => self.table.remove(&key),
            };
        }
    }

    /// Writes more of the other keys until compaction has done what is waited for. Returns the offsets that are there.
    async fn compact(&mut self, broker: &Broker, is_compacted: impl Fn(&[i64]) -> bool) -> Vec<i64> {
        let begun = Instant::now();
        loop {
            self.write(broker, &[0, 2, 3], false).await;
            let there = broker.offsets().await;
            if is_compacted(&there) {
                return there;
            }
            assert!(begun.elapsed() < PATIENCE, "never compacted: {there:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn start(broker: &Broker, snapshot: Snapshot) -> (Running<Keyed>, RunnerHandle<Table>) {
    let handler = Keyed::default();
    let kafka = KafkaOptions::new(&broker.address, broker.group());
    let runner = KafkaRunner::new(&kafka, handler.clone()).expect("valid options");
    let watch = runner.handle();
    (Running::run_as(options(), Fake::new(), snapshot, handler, runner).await, watch)
}

/// The old owner has processed everything before [`START`], and the new one begins when compaction has done what is waited for.
async fn moves_over_holes(keeps_tombstones: Duration, is_compacted: impl Fn(&[i64]) -> bool) {
    let Some(jars) = kafka_assigner_rig::kafka_jars() else { return };
    let kafka = Kafka::start_with(&jars, &TIDY).expect("a broker starts");
    let broker = Broker::compacted(&kafka, keeps_tombstones).await;
    let mut written = Written::default();
    written.write(&broker, &[0, 1, 2, 3].repeat(10), false).await;
    let (old, _) = start(&broker, broker.strictly_granted()).await;
    old.handler.wait_for(|offsets| offsets.last() == Some(&(START - 1))).await;
    old.fake.push(broker.drain("h"));
    assert_eq!(old.drained("h").await, Some(START));
    written.write(&broker, &[1], true).await;
    let there = written.compact(&broker, is_compacted).await;

    let (new, watch) = start(&broker, Snapshot::default()).await;
    new.fake.push(broker.warm("h"));
    new.asked(Asked::Ready("h".into())).await;
    new.fake.push(broker.catch_up("h", Some(START)));
    new.asked(Asked::CaughtUp("h".into())).await;
    new.fake.push(assign(&broker, 9, Some(START), "h"));
    new.asked(Asked::Taken("h".into())).await;
    written.write(&broker, &[0], false).await;
    let last = written.next - 1;
    let processed = new.handler.wait_for(|offsets| offsets.last() == Some(&last)).await;
    assert_eq!(processed, [there, vec![last]].concat(), "all that is left, and nothing else");
    assert_eq!(new.handler.caught_up(), Vec::<i64>::new(), "nothing before the start is left");
    let at = TopicPartition::try_from((broker.topic.as_str(), 0)).expect("a valid name");
    assert_eq!(watch.read(&at, |table, epoch| (table.clone(), epoch)).await, Ok((written.table, Epoch(9))));
    old.stop().await;
    new.stop().await;
    assert_eq!(broker.committed().await, Some((last + 1, "epoch=9".into())));
}

#[tokio::test]
async fn a_new_owner_begins_behind_a_hole_with_a_tombstone() {
    let day = Duration::from_secs(24 * 60 * 60);
    moves_over_holes(day, |there| there.first() == Some(&START)).await;
}

#[tokio::test]
async fn a_new_owner_begins_within_a_hole_when_tombstones_are_gone_too() {
    moves_over_holes(Duration::from_millis(1), |there| there.first() > Some(&(START + 1))).await;
}
