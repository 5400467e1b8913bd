//! The start of a partition's state.

use std::fmt;
use std::sync::Arc;

use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

/// Takes the progress of a preparation.
pub trait PreparationProgress: Send + Sync {
    /// So much is done of so much, in any unit; `None` = unknown.
    fn report(&self, done: u64, total: Option<u64>);
}

/// A partition that is prepared, as far as it is known.
#[derive(Clone)]
pub struct Preparation {
    /// The partition.
    pub partition: TopicPartition,
    /// Kafka's id of the topic; `None` = not known.
    pub topic_id: Option<TopicId>,
    /// The consumer that processes it meanwhile; `None` = nobody, so that every second counts.
    pub current_owner: Option<String>,
    /// True = what was opened before is of an earlier topic of this name: begin with an empty state, and let go of what
    /// shows the former one.
    pub is_anew: bool,
    /// Takes reports.
    pub progress: Arc<dyn PreparationProgress>,
}

impl Preparation {
    /// Reports how much is done, in any unit that rises: who waits for the partition waits as long as it does.
    pub fn report(&self, done: u64, total: Option<u64>) {
        self.progress.report(done, total);
    }
}

impl fmt::Debug for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preparation")
            .field("partition", &self.partition)
            .field("topic_id", &self.topic_id)
            .field("current_owner", &self.current_owner)
            .field("is_anew", &self.is_anew)
            .finish_non_exhaustive()
    }
}

/// A state to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedState<S> {
    /// The state.
    pub state: S,
    /// The first offset that is not in it; 0 = everything since the beginning is missing. `None` = the state needs no
    /// history: reading begins where processing starts.
    pub next_offset: Option<Offset>,
    /// The id of the topic of which both are: keep it beside a state that outlives the process. A topic that is deleted and
    /// created again has another id, and a state with another one is dropped: the partition is opened
    /// [anew](Preparation::is_anew). `None` = not known: the state counts, unless it is known that nobody has handled a
    /// record of this topic yet.
    pub topic_id: Option<TopicId>,
}

impl<S> OpenedState<S> {
    /// An empty state: everything since the beginning is missing.
    pub const fn empty(state: S) -> Self {
        Self { state, next_offset: Some(Offset::ZERO), topic_id: None }
    }

    /// A state that needs no history, for example a connection to where the effects are.
    pub const fn without_history(state: S) -> Self {
        Self { state, next_offset: None, topic_id: None }
    }

    /// A state in which all is that comes before `next_offset`, of the topic with this id.
    pub const fn up_to(state: S, next_offset: Offset, topic_id: Option<TopicId>) -> Self {
        Self { state, next_offset: Some(next_offset), topic_id }
    }
}
