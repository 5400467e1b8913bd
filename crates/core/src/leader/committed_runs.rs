//! The runs under which an offset was committed, kept beyond the ends of their sessions: [`CommittedRuns`].
//!
//! The report that proves it is part of a registration, which goes with its session; who gets the partition next is to know
//! of it.

use std::collections::BTreeMap;

use crate::committed::has_committed;
use crate::state::GroupState;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::name::MemberName;

/// One entry at most for each partition that is there.
#[derive(Debug, Clone, Default)]
pub(super) struct CommittedRuns(BTreeMap<TopicPartition, CommittedRun>);

#[derive(Debug, Clone, Copy)]
struct CommittedRun {
    /// The epoch of its first grant.
    run: Epoch,
    /// The revision in which the topic's record came into being.
    topic_since: Revision,
}

impl CommittedRuns {
    /// Takes in what `name` has reported.
    pub(super) fn see(&mut self, state: &GroupState, name: &MemberName) {
        let Some(consumer) = state.registration(name) else { return };
        let member = Member { name: name.clone(), incarnation: consumer.incarnation.clone() };
        for at in state.owned(&member).filter(|at| has_committed(state, at)) {
            let Some(assignment) = state.assignment(at) else { continue };
            let Some(topic_since) = assignment.topic_since else { continue };
            self.0.insert(at.clone(), CommittedRun { run: assignment.run(), topic_since });
        }
    }

    /// The partitions of which it knows.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.0.keys()
    }

    /// Forgets what was committed of `at` before the run that it is in.
    pub(super) fn see_unit(&mut self, state: &GroupState, at: &TopicPartition) {
        if self.topic_of(state, at).is_none() {
            self.0.remove(at);
        }
    }

    /// The topic of which the last owner of `at` has committed an offset, as far as it was seen; its session may be over.
    pub(super) fn topic_of(&self, state: &GroupState, at: &TopicPartition) -> Option<Revision> {
        let run = state.assignment(at)?.run();
        self.0.get(at).filter(|seen| seen.run == run).map(|seen| seen.topic_since)
    }
}
