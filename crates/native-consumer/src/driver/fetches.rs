//! Fetches: one under way to each broker that leads partitions with room for records.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_assigner_group_member::{KafkaError, RetryWait};
use kafka_assigner_kafka::{BrokerAddress, FetchPlace, FetchSession, FetchTarget};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use super::told::is_told;
use crate::PartitionEnd;
use crate::fetching::{DecodingLimits, FetchFailure, FetchLimits, FetchedPart, WantedPartitions, fetch};

/// Fetches from one broker.
#[derive(Debug, Default)]
pub(super) struct BrokerFetches {
    /// `None` while a fetch is under way, which has it.
    session: Option<FetchSession>,
    pub(super) not_before: Moment,
    wait: RetryWait,
}

impl BrokerFetches {
    /// True where no fetch is under way.
    pub(super) const fn is_idle(&self) -> bool {
        self.session.is_some()
    }
}

/// A partition that its broker does not give now: it alone is left out of fetches for a while.
#[derive(Debug, Default)]
pub(super) struct RestingPartition {
    pub(super) not_before: Moment,
    wait: RetryWait,
}

impl Driver {
    pub(super) fn serve_fetches(&mut self, now: Moment) {
        self.resting.retain(|partition, _| self.reading.contains_key(partition));
        let (brokers, is_complete) = self.wanted(now);
        self.metadata.look_for_leaders(now, is_complete);
        for (node, (address, wanted)) in brokers {
            let new = || BrokerFetches { session: Some(FetchSession::default()), ..Default::default() };
            let Some(session) = self.brokers.entry(node).or_insert_with(new).session.take() else { continue };
            self.fetch(node, address, session, wanted);
        }
    }

    fn fetch(
        &mut self,
        node: i32,
        address: BrokerAddress,
        mut session: FetchSession,
        wanted: WantedPartitions,
    ) {
        let (pool, limits) = (Arc::clone(&self.pool), self.limits());
        self.tasks.spawn(async move {
            let parts = fetch(&pool, &address, &mut session, wanted, limits).await;
            Answer::Fetched(node, session, parts)
        });
    }

    fn limits(&self) -> FetchLimits {
        let bytes = |bytes: u32| i32::try_from(bytes).unwrap_or(i32::MAX);
        FetchLimits {
            wait: self.options.fetch_wait,
            least_bytes: bytes(self.options.fetch_least_bytes),
            most_bytes: bytes(self.options.fetch_most_bytes),
            isolation: self.options.isolation,
            decoding: DecodingLimits {
                partition_bytes: usize::try_from(self.options.partition_most_bytes).unwrap_or(usize::MAX),
                all_bytes: self.options.buffer_most_bytes,
            },
        }
    }

    /// True where no fetch to this broker is under way, and it need not be left alone.
    fn is_free(&self, node: i32, now: Moment) -> bool {
        let is_free = |broker: &BrokerFetches| broker.session.is_some() && broker.not_before <= now;
        self.brokers.get(&node).is_none_or(is_free)
    }

    /// By broker that is free, the partitions that have room for records; none, where all of them together have no more. And
    /// whether the leader of each is known.
    fn wanted(&self, now: Moment) -> (BTreeMap<i32, (BrokerAddress, WantedPartitions)>, bool) {
        let (mut brokers, mut is_complete) =
            (BTreeMap::<i32, (BrokerAddress, WantedPartitions)>::new(), true);
        let waiting: usize = self.cells.values().map(|cell| cell.bytes()).sum();
        if waiting >= self.options.buffer_most_bytes {
            return (brokers, is_complete);
        }
        let most_bytes = i32::try_from(self.options.partition_most_bytes).unwrap_or(i32::MAX);
        let asked = |partition: &TopicPartition| self.has_room(partition) && !self.rests(partition, now);
        for (partition, from) in self.reading.iter().filter(|(partition, _)| asked(partition)) {
            let Some(leader) = self.topology.leader(partition) else {
                is_complete = false;
                continue;
            };
            if !self.is_free(leader.node, now) {
                continue;
            }
            let target = FetchTarget {
                topic: partition.topic.as_str().to_owned(),
                topic_id: leader.topic_id,
                partition: partition.kafka_number(),
            };
            let place = FetchPlace { offset: from.offset.get(), leader_epoch: leader.epoch, most_bytes };
            let (_, wanted) =
                brokers.entry(leader.node).or_insert_with(|| (leader.address, WantedPartitions::new()));
            wanted.insert(partition.clone(), (target, place, *from));
        }
        (brokers, is_complete)
    }

    fn rests(&self, partition: &TopicPartition, now: Moment) -> bool {
        self.resting.get(partition).is_some_and(|resting| resting.not_before > now)
    }

    fn has_room(&self, partition: &TopicPartition) -> bool {
        let room = usize::try_from(self.options.partition_most_bytes).unwrap_or(usize::MAX);
        self.cells.get(partition).is_some_and(|cell| cell.bytes() < room && !cell.is_released())
    }

    pub(super) fn fetched(
        &mut self,
        node: i32,
        session: FetchSession,
        parts: Result<Vec<FetchedPart>, FetchFailure>,
        now: Moment,
    ) {
        let broker = self.brokers.entry(node).or_default();
        broker.session = Some(session);
        match parts {
            Ok(parts) => {
                broker.wait.succeeded();
                parts.into_iter().for_each(|part| self.take_part(part, now));
            }
            Err(error) => {
                broker.not_before = now + broker.wait.failed();
                let failures = broker.wait.failures();
                if is_told(failures) {
                    tracing::warn!(%error, node, failures, "nothing was fetched; it is tried again");
                }
                self.metadata.request();
            }
        }
        self.core.changed.notify_waiters();
    }

    /// Hands the records of a partition out, where they are the next ones.
    fn take_part(&mut self, part: FetchedPart, now: Moment) {
        let is_current = self.reading.get(&part.partition) == Some(&part.from);
        if !is_current {
            return;
        }
        match KafkaError(part.error) {
            KafkaError::NONE => self.take_records(part),
            KafkaError::OUT_OF_RANGE => self.reader.out_of_range(&part.partition, part.from.version),
            error if error.passes() => self.rest(&part.partition, error, now),
            error => self.end_cell(&part.partition, PartitionEnd::Refused(error)),
        }
    }

    /// Leaves a partition alone for a while, and looks for another leader of it.
    fn rest(&mut self, partition: &TopicPartition, error: KafkaError, now: Moment) {
        let resting = self.resting.entry(partition.clone()).or_default();
        resting.not_before = now + resting.wait.failed();
        let failures = resting.wait.failures();
        if is_told(failures) {
            tracing::warn!(%partition, error = error.0, failures, "a partition can't be read now; it is tried again");
        }
        self.metadata.request();
    }

    fn take_records(&mut self, part: FetchedPart) {
        let FetchedPart { partition, from, next, batch, unreadable, .. } = part;
        self.resting.remove(&partition);
        if let (None, Some(reason)) = (next, unreadable) {
            return self.end_cell(&partition, PartitionEnd::Unreadable(reason));
        }
        let Some(next) = next.filter(|next| self.reader.advance(&partition, from.version, *next)) else {
            return;
        };
        if let Some(position) = self.reading.get_mut(&partition) {
            position.offset = next;
        }
        let (Some(batch), Some(last)) = (batch, next.before()) else { return };
        if self.ledger.hand_out(&partition, last)
            && let Some(cell) = self.cells.get(&partition)
        {
            cell.push(batch);
        }
    }
}
