//! The answers of tasks.

use std::collections::BTreeMap;

use kafka_assigner_group_member::{AnswerFailure, GroupCoordinator, GroupPlan, KafkaError, RequestNumber};
use kafka_assigner_kafka::messages::MetadataResponse;
use kafka_assigner_kafka::{Error, FetchSession};
use kafka_assigner_types::id::TopicPartition;
use tokio::task::JoinError;

use super::Driver;
use crate::NativeFailure;
use crate::fetching::{FetchFailure, FetchedPart};
use crate::group_member::MemberEvent;
use crate::offsets::FoundOffsets;

/// The answer of a task.
#[derive(Debug)]
pub(super) enum Answer {
    /// To a request of the member.
    Member(MemberEvent),
    /// The coordinator.
    Coordinator(RequestNumber, Result<Result<GroupCoordinator, KafkaError>, AnswerFailure>),
    /// Metadata.
    Metadata(Result<Vec<MetadataResponse>, Error>),
    /// A plan: the bytes for each member; `None`: none could be made.
    Planned(i32, GroupPlan, Option<Vec<(String, Vec<u8>)>>),
    /// Offsets to read from.
    Offsets(RequestNumber, Result<FoundOffsets, AnswerFailure>),
    /// The outcome of a commit.
    Committed(RequestNumber, Result<BTreeMap<TopicPartition, KafkaError>, AnswerFailure>),
    /// Records.
    Fetched(i32, FetchSession, Result<Vec<FetchedPart>, FetchFailure>),
    /// The listener has taken the callback of this number.
    Listened(u64),
}

impl Driver {
    /// Takes the end of a task. One that panicked leaves a question without an answer, so nothing can go on.
    pub(super) fn take_any(&mut self, answer: Result<Answer, JoinError>) {
        match answer {
            Ok(answer) => self.take(answer),
            Err(error) => {
                tracing::error!(%error, "a task of the consumer failed");
                (self.failure, self.is_broken) = (Some(NativeFailure::Panicked), true);
            }
        }
    }

    fn take(&mut self, answer: Answer) {
        let now = self.now();
        match answer {
            Answer::Member(event) => {
                if event.is_of_the_coordinator() {
                    self.finder.confirmed();
                }
                self.events.push_back(event);
            }
            Answer::Coordinator(number, answer) => self.coordinator_found(number, answer, now),
            Answer::Metadata(answer) => self.metadata_came(answer, now),
            Answer::Planned(generation, plan, parts) => self.planned(generation, plan, parts),
            Answer::Offsets(number, found) => self.offsets_came(number, &found, now),
            Answer::Committed(number, outcomes) => self.committed(number, outcomes, now),
            Answer::Fetched(node, session, parts) => self.fetched(node, session, parts, now),
            Answer::Listened(number) => self.listened(number),
        }
    }
}
