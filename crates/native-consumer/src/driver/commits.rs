//! Commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kafka_assigner_group_member::{
    AnswerFailure, ClassicEvent, KafkaError, Membership, OffsetCommit, Reaction, RequestNumber,
};
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool};
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use super::coordinator::PATIENCE;
use crate::group_member::MemberEvent;
use crate::offsets::{self, TopicIds};

/// The times of commits.
#[derive(Debug, Default)]
pub(super) struct CommitTimes {
    /// Work that is done by then is committed, though nobody waits for it.
    next: Moment,
    /// The commit under way.
    flight: Option<CommitUnderWay>,
    /// The member waits until what is done is committed.
    flush: FlushStage,
}

/// The commit that the member waits for before it joins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FlushStage {
    /// It waits for none.
    #[default]
    None,
    /// A commit with all that is done by now is to be sent.
    Wanted,
    /// It is under way.
    Sent(RequestNumber),
}

#[derive(Debug)]
struct CommitUnderWay {
    membership: Membership,
    offsets: BTreeMap<TopicPartition, Offset>,
}

impl CommitTimes {
    pub(super) fn next_step(&self) -> Option<Moment> {
        self.flight.is_none().then_some(self.next)
    }

    /// True where a commit is under way; its answer takes no longer than one of the coordinator.
    pub(super) const fn is_under_way(&self) -> bool {
        self.flight.is_some()
    }

    /// Commits are due now.
    pub(super) fn hurry(&mut self, now: Moment) {
        self.next = self.next.min(now);
    }

    /// Commits all that is done by now, and tells the member.
    pub(super) fn flush(&mut self) {
        self.flush = FlushStage::Wanted;
    }

    /// The commit under way says nothing of a partition that was sought, or given up, since.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        if let Some(flight) = &mut self.flight {
            flight.offsets.remove(partition);
        }
    }
}

impl Driver {
    /// Takes in what the application is done with, and commits where it is time, somebody waits, or partitions are given up.
    pub(super) fn serve_commits(&mut self, now: Moment) {
        let membership = self.member.commits_as();
        if membership.is_none() {
            // The member has joined without it, or has lost everything.
            self.commits.flush = FlushStage::None;
        }
        self.ledger.speak_as(membership);
        for (partition, cell) in &self.cells {
            if let Some(last) = cell.take_done() {
                // Refused where the partition was sought since: what came before counts no more.
                let _outdated = self.ledger.done(partition, last);
            }
        }
        let is_due = self.commits.next <= now
            || self.callback.is_some()
            || self.commits.flush != FlushStage::None
            || self.cells.values().any(|cell| cell.is_awaited());
        if !is_due || self.coordinator().is_none() {
            return;
        }
        if let Some(commit) = self.ledger.serve(now) {
            self.send_commit(commit);
        } else if self.commits.flight.is_none() {
            self.commits.next = now + self.options.commit_interval;
        }
        if self.commits.flush == FlushStage::Wanted && self.ledger.is_settled() {
            self.flushed();
        }
    }

    fn flushed(&mut self) {
        self.commits.flush = FlushStage::None;
        self.events.push_back(MemberEvent::Classic(ClassicEvent::Flushed));
    }

    /// Takes the end of a commit. One that brokers did not take is sent again, until the member waits no more.
    fn flush_answered(&mut self, number: RequestNumber, reaction: Reaction) {
        if self.commits.flush == FlushStage::Sent(number) {
            match reaction {
                Reaction::Done => self.flushed(),
                _ => self.commits.flush = FlushStage::Wanted,
            }
        }
    }

    fn send_commit(&mut self, commit: OffsetCommit) {
        let Some(broker) = self.coordinator() else { return };
        let ids = self.ids_of(commit.offsets.keys());
        let (pool, group, number) = (Arc::clone(&self.pool), self.options.group.clone(), commit.number);
        self.commits.flight =
            Some(CommitUnderWay { membership: commit.membership.clone(), offsets: commit.offsets.clone() });
        if self.commits.flush == FlushStage::Wanted {
            self.commits.flush = FlushStage::Sent(number);
        }
        self.tasks.spawn(async move {
            Answer::Committed(number, send(&pool, &broker, &group, &commit, &ids).await)
        });
    }

    /// The ids of the topics of partitions.
    pub(super) fn ids_of<'a>(&self, partitions: impl IntoIterator<Item = &'a TopicPartition>) -> TopicIds {
        let topics: BTreeSet<_> = partitions.into_iter().map(|partition| &partition.topic).collect();
        topics.into_iter().map(|topic| (topic.clone(), self.topology.id_of(topic))).collect()
    }

    pub(super) fn committed(
        &mut self,
        number: RequestNumber,
        outcomes: Result<BTreeMap<TopicPartition, KafkaError>, AnswerFailure>,
        now: Moment,
    ) {
        let reaction = self.ledger.answered(number, outcomes.as_ref().map_err(|failure| *failure), now);
        self.commits.next = now + self.options.commit_interval;
        self.flush_answered(number, reaction);
        let Some(flight) = self.commits.flight.take() else { return };
        match outcomes {
            Ok(outcomes) => {
                if !outcomes.values().any(|error| error.is_of_coordinator()) {
                    self.finder.confirmed();
                }
                self.take_outcomes(flight, &outcomes);
            }
            Err(AnswerFailure) => self.finder.lost(now),
        }
        if reaction == Reaction::FindCoordinator {
            self.finder.lost(now);
        }
    }

    /// Tells those who wait, and the member where its membership is over.
    fn take_outcomes(&mut self, flight: CommitUnderWay, outcomes: &BTreeMap<TopicPartition, KafkaError>) {
        let mut errors = BTreeSet::new();
        for (partition, offset) in flight.offsets {
            let Some(error) = outcomes.get(&partition).copied() else {
                // Its topic has no id that is known, or the broker does not know it.
                self.metadata.request();
                continue;
            };
            let cell = self.cells.get(&partition);
            match Reaction::to_commit(error) {
                Reaction::Done => cell.into_iter().for_each(|cell| cell.committed(offset)),
                Reaction::Fail => cell.into_iter().for_each(|cell| cell.refuse(offset, error)),
                _ => {}
            }
            errors.insert(error);
        }
        errors.remove(&KafkaError::NONE);
        if errors.contains(&KafkaError::UNKNOWN_TOPIC_ID) {
            self.metadata.request();
        }
        for error in errors {
            tracing::warn!(group = self.options.group, error = error.0, "a commit was refused");
            self.events.push_back(MemberEvent::CommitRefused(flight.membership.clone(), error));
        }
    }
}

async fn send(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    group: &str,
    commit: &OffsetCommit,
    ids: &TopicIds,
) -> Result<BTreeMap<TopicPartition, KafkaError>, AnswerFailure> {
    let request = |version| offsets::commit(group, &commit.membership, &commit.offsets, ids, version);
    // In order with heartbeats, on the one connection of the group.
    let answer = pool.ask(broker, BrokerLane::Group, request, PATIENCE).await;
    let (answer, _) = answer.map_err(|error| {
        tracing::warn!(%error, group, "a commit has no answer; it is sent again");
        AnswerFailure
    })?;
    Ok(offsets::outcomes(&answer, ids))
}
