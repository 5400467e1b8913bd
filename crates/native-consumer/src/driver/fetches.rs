//! Fetches: one under way to each broker that leads partitions with room for records.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_assigner_group_member::{KafkaError, RetryWait};
use kafka_assigner_kafka::{BrokerAddress, FetchPlace, FetchSession, FetchTarget};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use crate::PartitionEnd;
use crate::fetching::{FetchFailure, FetchLimits, FetchedPart, WantedPartitions, fetch};

/// Fetches from one broker.
#[derive(Debug, Default)]
pub(super) struct BrokerFetches {
    /// `None` while a fetch is under way, which has it.
    session: Option<FetchSession>,
    pub(super) not_before: Moment,
    wait: RetryWait,
}

impl Driver {
    pub(super) fn serve_fetches(&mut self, now: Moment) {
        let (brokers, is_complete) = self.wanted(now);
        if !is_complete {
            self.metadata.wish();
        }
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
            let parts = fetch(&pool, &address, &mut session, &wanted, limits).await;
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
        for (partition, from) in self.reading.iter().filter(|(partition, _)| self.has_room(partition)) {
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
        let is_good = match parts {
            Ok(parts) => {
                let mut is_good = true;
                for part in parts {
                    is_good &= self.take_part(part);
                }
                is_good
            }
            Err(error) => {
                tracing::debug!(%error, node, "nothing was fetched");
                false
            }
        };
        let broker = self.brokers.entry(node).or_default();
        broker.session = Some(session);
        if is_good {
            broker.wait.succeeded();
        } else {
            broker.not_before = now + broker.wait.failed();
            self.metadata.wish();
        }
        self.core.changed.notify_waiters();
    }

    /// Hands the records of a partition out, where they are the next ones. False where its broker is to be left alone for
    /// a while.
    fn take_part(&mut self, part: FetchedPart) -> bool {
        let is_current = self.reading.get(&part.partition) == Some(&part.from);
        if !is_current {
            return true;
        }
        match KafkaError(part.error) {
            KafkaError::NONE => self.take_records(part),
            KafkaError::OUT_OF_RANGE => self.reader.out_of_range(&part.partition, part.from.version),
            error if error.passes() => return false,
            error => self.end_cell(&part.partition, PartitionEnd::Refused(error)),
        }
        true
    }

    fn take_records(&mut self, part: FetchedPart) {
        let FetchedPart { partition, from, next, batch, unreadable, .. } = part;
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
