//! A member with librdkafka's client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::{ClientConfig, ClientContext, Message as _, TopicPartitionList};

use super::judge::MemberEvent;

/// A member of librdkafka, which is asked for records on a thread of its own until it is dropped.
#[derive(Debug)]
pub(super) struct Librdkafka {
    shown: Shown,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Its events.
#[derive(Debug, Clone, Default)]
struct Shown(Arc<Mutex<Vec<MemberEvent>>>);

impl Shown {
    fn events(&self) -> Vec<MemberEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, event: &str, partitions: Vec<(String, u32)>, offsets: Option<(i64, i64)>) {
        self.tell_at(now_ms(), event, partitions, offsets);
    }

    fn tell_at(&self, ts_ms: u64, event: &str, partitions: Vec<(String, u32)>, offsets: Option<(i64, i64)>) {
        let event = MemberEvent { event: event.to_owned(), partitions, offsets, ts_ms };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// The wall clock, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl ClientContext for Shown {}

impl ConsumerContext for Shown {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            self.tell("revoked", names(partitions), None);
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            self.tell("assigned", names(partitions), None);
        }
    }
}

fn names(partitions: &TopicPartitionList) -> Vec<(String, u32)> {
    let name = |element: rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
        (element.topic().to_owned(), element.partition().unsigned_abs())
    };
    partitions.elements().into_iter().map(name).collect()
}

impl Librdkafka {
    pub(super) fn start(kafka: &str, group: &str, strategy: &str, session_ms: u32) -> Result<Self> {
        let (shown, is_over) = (Shown::default(), Arc::new(AtomicBool::new(false)));
        let consumer: BaseConsumer<Shown> = ClientConfig::new()
            .set("bootstrap.servers", kafka)
            .set("group.id", group)
            .set("partition.assignment.strategy", strategy)
            .set("session.timeout.ms", session_ms.to_string())
            .set("heartbeat.interval.ms", "500")
            .set("auto.offset.reset", "earliest")
            // A consumer that is dropped takes records that nobody gets: only what was told is to be committed.
            .set("enable.auto.offset.store", "false")
            .create_with_context(shown.clone())?;
        consumer.subscribe(&[group])?;
        let (telling, ending) = (shown.clone(), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                if let Some(Ok(record)) = consumer.poll(Duration::from_millis(50)) {
                    let name = (record.topic().to_owned(), record.partition().unsigned_abs());
                    telling.tell("records", vec![name], Some((record.offset(), record.offset())));
                    // Refused where the partition was given up meanwhile: others handle the record again, which shows.
                    let _given_up = consumer.store_offset_from_message(&record);
                }
            }
            // Others have its partitions from the moment at which it leaves, which is before it has left.
            let leaves_at = now_ms();
            drop(consumer);
            telling.tell_at(leaves_at, "closed", Vec::new(), None);
        });
        Ok(Self { shown, is_over, thread: Some(thread) })
    }

    /// Its events so far.
    pub(super) fn events(&self) -> Vec<MemberEvent> {
        self.shown.events()
    }

    /// It leaves; its events up to the last one.
    pub(super) fn end(self) -> Vec<MemberEvent> {
        let shown = self.shown.clone();
        drop(self);
        shown.events()
    }
}

impl Drop for Librdkafka {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there shows in the records that are missing.
            let _panicked = thread.join();
        }
    }
}
