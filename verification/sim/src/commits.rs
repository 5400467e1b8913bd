//! The offsets that the group has committed, as Kafka keeps them: whatever becomes of the service's store.

use std::collections::BTreeMap;

use kafka_assigner_client::{CommittedOffset, OwnedContext};
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

/// The step from one offset that is said to the next: no two are neighbours.
const STEP: i64 = 10;

/// The place at which an owner starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// `None`: it was told none.
    pub(crate) offset: Option<Offset>,
    pub(crate) topic_id: Option<TopicId>,
}

#[derive(Debug, Default)]
pub(crate) struct Commits {
    committed: BTreeMap<TopicPartition, CommittedOffset>,
    /// What was committed when a process prepared a partition that it was granted already.
    prepared: BTreeMap<(u32, TopicPartition), CommittedOffset>,
    last: i64,
}

impl Commits {
    /// An offset that nobody has said, above all that were.
    pub(crate) fn next_offset(&mut self) -> Offset {
        self.last += STEP;
        Offset::new(self.last).expect("above 0")
    }

    /// `owner` commits `offset`.
    pub(crate) fn commit(&mut self, owner: &OwnedContext, offset: Offset) -> CommittedOffset {
        let committed = CommittedOffset { offset, topic_id: owner.topic_id() };
        self.committed.insert(owner.partition().clone(), committed);
        committed
    }

    /// A process prepares a partition; `is_granted`: it was told already where to start.
    pub(crate) fn prepare(&mut self, process: u32, at: &TopicPartition, is_granted: bool) {
        let key = (process, at.clone());
        match self.committed.get(at).filter(|_| is_granted) {
            Some(committed) => self.prepared.insert(key, *committed),
            None => self.prepared.remove(&key),
        };
    }

    /// The offset at which a process starts where it was told one, as the runner decides it: one who was told before it
    /// prepared the partition looks at what is committed.
    pub(crate) fn start(&self, process: u32, owner: &OwnedContext) -> Start {
        let prepared = self.prepared.get(&(process, owner.partition().clone()));
        let offset = owner.start_offset().and_then(|_| owner.start_after(prepared.copied()));
        Start { offset, topic_id: owner.topic_id() }
    }
}
