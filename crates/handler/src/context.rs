//! The context of a partition that is owned.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;

use crate::confirmations::Confirm;

/// The right to act for a partition, as a source of records has it.
pub trait Ownership: Any + Send + Sync {
    /// The fencing token of the grant. It may rise while the owner goes on.
    fn epoch(&self) -> Epoch;

    /// True if the owner may act now.
    fn may_act(&self) -> bool;

    /// Ends when the right is over for good.
    ///
    /// Cancel safe.
    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The context of an owned partition; cheap to clone, and to be kept for as long as it is owned.
#[derive(Clone)]
pub struct PartitionContext {
    partition: TopicPartition,
    topic_id: Option<TopicId>,
    ownership: Arc<dyn Ownership>,
    /// `None` = what is processed is committed, without a word.
    confirm: Option<Arc<dyn Confirm>>,
}

impl PartitionContext {
    /// The context of `partition`, of the topic with this id, under `ownership`.
    #[must_use]
    pub fn new(partition: TopicPartition, topic_id: Option<TopicId>, ownership: Arc<dyn Ownership>) -> Self {
        Self { partition, topic_id, ownership, confirm: None }
    }

    /// The same context, with somebody who takes what the handler [confirms](Self::confirm). For runners.
    #[must_use]
    pub fn confirmed_by(self, confirm: Arc<dyn Confirm>) -> Self {
        Self { confirm: Some(confirm), ..self }
    }

    /// The same context with another one who takes it, if anybody does.
    pub(crate) fn confirming(&self, wrap: impl FnOnce(Arc<dyn Confirm>) -> Arc<dyn Confirm>) -> Self {
        Self { confirm: self.confirm.clone().map(wrap), ..self.clone() }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Kafka's id of the topic, to keep beside every offset and every state that is kept outside of this process: under
    /// another id they are of another log. `None` = not known.
    #[must_use]
    pub const fn topic_id(&self) -> Option<TopicId> {
        self.topic_id
    }

    /// The fencing token to put beside every effect. It may rise while the owner goes on under a new grant.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.ownership.epoch()
    }

    /// True if the owner may act now: ask before each effect, since what was so a moment ago may be over.
    #[must_use]
    pub fn may_act(&self) -> bool {
        self.ownership.may_act()
    }

    /// Says that the effects of all records before `next` are safe, so that this may be committed. Under
    /// [`CommitRule::Confirmed`](crate::CommitRule::Confirmed) nothing is committed without it; else it does nothing.
    ///
    /// It may be said at any time and from any task, by a clone of the context that came with the records, for as long as the
    /// state lives under which they were processed; afterwards it counts for nothing. Never more is committed than was
    /// processed: a word that is ahead counts when processing has come there. Smaller numbers than before say nothing new.
    pub fn confirm(&self, next: Offset) {
        if let Some(confirm) = &self.confirm {
            confirm.confirm(next);
        }
    }

    /// Ends when the right to act is over for good.
    ///
    /// Cancel safe.
    pub async fn ended(&self) {
        self.ownership.ended().await;
    }

    /// The ownership as its source knows it; `None` = it is of another type.
    #[must_use]
    pub fn ownership<T: Ownership>(&self) -> Option<&T> {
        let ownership: &dyn Any = &*self.ownership;
        ownership.downcast_ref()
    }
}

impl fmt::Debug for PartitionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionContext")
            .field("partition", &self.partition)
            .field("epoch", &self.epoch())
            .field("may_act", &self.may_act())
            .finish_non_exhaustive()
    }
}
