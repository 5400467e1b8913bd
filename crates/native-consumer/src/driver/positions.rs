//! The positions that partitions are read from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use kafka_assigner_group_member::{AnswerFailure, OffsetSource, ReadCommand, ReadPosition, RequestNumber};
use kafka_assigner_kafka::records::Isolation;
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::{Moment, millis};

use super::Driver;
use super::answer::Answer;
use super::coordinator::PATIENCE;
use crate::PartitionEnd;
use crate::offsets::{self, FoundOffsets, TopicIds};

/// Partitions by the broker that leads them, each with the epoch of its leader.
type ByLeader = BTreeMap<BrokerAddress, BTreeMap<TopicPartition, i32>>;

impl Driver {
    pub(super) fn serve_positions(&mut self, now: Moment) {
        self.hear_seeks();
        for command in self.reader.serve(now) {
            match command {
                ReadCommand::Ask { number, partitions, source } => {
                    self.ask_offsets(number, &partitions, source);
                }
                ReadCommand::Read { partition, position, is_chosen } => {
                    self.read(&partition, position);
                    if is_chosen {
                        self.begin_elsewhere(&partition, now);
                    }
                }
                ReadCommand::Stop(partition) => drop(self.reading.remove(&partition)),
                ReadCommand::Refuse(partition, error) => {
                    self.end_cell(&partition, PartitionEnd::Refused(error));
                }
            }
        }
        // Before a record of it is handed out.
        self.serve_commits(now);
    }

    fn hear_seeks(&mut self) {
        for (partition, cell) in &self.cells {
            if let Some(offset) = cell.take_seek() {
                self.reader.seek(partition, offset);
                self.commits.forget(partition);
                // Its place in the ledger comes with its position, if it has none yet.
                let _not_yet = self.ledger.seek(partition, offset);
            }
        }
    }

    pub(super) fn end_cell(&mut self, partition: &TopicPartition, end: PartitionEnd) {
        self.reading.remove(partition);
        if let Some(cell) = self.cells.get(partition) {
            tracing::warn!(%partition, ?end, "the partition can't be read");
            cell.end(end);
            self.core.changed.notify_waiters();
        }
    }

    /// Reads from a position. A partition that had another one before reads on from elsewhere: what it had handed out
    /// before counts no more.
    fn read(&mut self, partition: &TopicPartition, position: ReadPosition) {
        if self.ledger.seek(partition, position.offset).is_err() {
            self.ledger.own(partition.clone(), position.offset);
        }
        self.reading.insert(partition.clone(), position);
    }

    /// The policy chose the position: it is committed, and what was read before it is forgotten.
    fn begin_elsewhere(&mut self, partition: &TopicPartition, now: Moment) {
        if let Some(cell) = self.cells.get(partition) {
            cell.reset();
        }
        self.commits.forget(partition);
        self.ledger.commit_position(partition);
        self.commits.hurry(now);
    }

    fn ask_offsets(
        &mut self,
        number: RequestNumber,
        partitions: &BTreeSet<TopicPartition>,
        source: OffsetSource,
    ) {
        match source {
            OffsetSource::Committed => self.ask_committed(number, partitions.clone()),
            OffsetSource::Earliest | OffsetSource::Latest => self.ask_leaders(number, partitions, source),
        }
    }

    fn ask_committed(&mut self, number: RequestNumber, partitions: BTreeSet<TopicPartition>) {
        let (pool, group) = (Arc::clone(&self.pool), self.options.group.clone());
        // Newer brokers know topics by their ids alone.
        let is_known = partitions.iter().all(|partition| self.topology.knows(&partition.topic));
        let (broker, ids) = (self.coordinator().filter(|_| is_known), self.ids_of(&partitions));
        self.tasks.spawn(async move {
            let found = match broker {
                Some(broker) => committed(&pool, &broker, &group, &partitions, &ids).await,
                None => Err(AnswerFailure),
            };
            Answer::Offsets(number, found)
        });
    }

    fn ask_leaders(
        &mut self,
        number: RequestNumber,
        partitions: &BTreeSet<TopicPartition>,
        source: OffsetSource,
    ) {
        let mut leaders = ByLeader::new();
        for partition in partitions {
            match self.topology.leader(partition) {
                Some(leader) => {
                    leaders.entry(leader.address).or_default().insert(partition.clone(), leader.epoch);
                }
                None => drop(self.metadata.request()),
            }
        }
        let (pool, isolation) = (Arc::clone(&self.pool), self.options.isolation);
        self.tasks.spawn(async move {
            Answer::Offsets(number, Ok(listed(&pool, &leaders, source, isolation).await))
        });
    }

    /// Partitions that are missing, or have an error that passes, are asked for again, with newer metadata.
    pub(super) fn offsets_came(
        &mut self,
        number: RequestNumber,
        found: &Result<FoundOffsets, AnswerFailure>,
        now: Moment,
    ) {
        let errors: BTreeSet<_> = found.iter().flatten().filter_map(|(_, word)| word.err()).collect();
        if errors.iter().any(|error| error.is_of_coordinator()) {
            self.finder.lost(now);
        }
        if found.is_err() || !errors.is_empty() {
            self.metadata.request();
        }
        self.reader.answered(number, found.as_ref().map_err(|failure| *failure), now);
    }
}

/// The committed offsets. An error of the whole answer is one of each partition.
async fn committed(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    group: &str,
    partitions: &BTreeSet<TopicPartition>,
    ids: &TopicIds,
) -> Result<FoundOffsets, AnswerFailure> {
    let request = |version| offsets::fetch_committed(group, partitions, ids, version);
    let answer = pool.ask(broker, BrokerLane::Requests, request, PATIENCE).await;
    let (answer, _) = answer.map_err(|error| {
        tracing::warn!(%error, group, "no answer about committed offsets; they are asked for again");
        AnswerFailure
    })?;
    let of_all = |error| partitions.iter().map(|partition| (partition.clone(), Err(error))).collect();
    Ok(offsets::committed_in(answer, ids).unwrap_or_else(of_all))
}

/// The beginnings or ends that leaders tell, all asked at once. Those of leaders that don't answer are missing.
async fn listed(
    pool: &BrokerPool,
    leaders: &ByLeader,
    source: OffsetSource,
    isolation: Isolation,
) -> FoundOffsets {
    let patience = i32::try_from(millis(PATIENCE)).unwrap_or(i32::MAX);
    let ask = |(broker, partitions)| async move {
        let request = |_| offsets::list_offsets(partitions, source, isolation, patience);
        match pool.ask(broker, BrokerLane::Requests, request, PATIENCE).await {
            Ok((answer, _)) => offsets::listed_in(&answer),
            Err(error) => {
                tracing::warn!(%error, "no answer about the ends of logs; they are asked for again");
                FoundOffsets::new()
            }
        }
    };
    join_all(leaders.iter().map(ask)).await.into_iter().flatten().collect()
}
