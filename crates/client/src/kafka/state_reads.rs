//! Reading the state of a partition while it is owned: in the partition's own task, between two records.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{PoisonError, RwLock};

use kafka_assigner_types::id::{Epoch, TopicPartition};
use tokio::sync::{mpsc, oneshot};

use crate::claim::Claim;

/// The most readers that wait for one partition; each of them waits for at most one record and the readers before it.
const MOST_WAITING: usize = 128;

/// A look at a state, under the epoch at which it is owned.
pub(super) type StateRead<S> = Box<dyn FnOnce(&S, Epoch) + Send>;

/// A state could not be read: nothing was called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateReadError {
    /// The partition is not processed here, or its claim is not valid: another one may own it.
    #[error("{0} is not owned here")]
    NotOwned(TopicPartition),
    /// Nobody has said how many partitions the topic has, so that the partition of a key is not known.
    #[error("the number of partitions of topic {topic} is not known: {why}")]
    PartitionsUnknown {
        /// The topic.
        topic: String,
        /// The reason, for people.
        why: String,
    },
    /// So many wait already; try again.
    #[error("too many wait for the state of {0}")]
    Busy(TopicPartition),
}

/// The queues of those that read states, by partition.
pub(super) struct StateReaders<S>(RwLock<BTreeMap<TopicPartition, StateReader<S>>>);

struct StateReader<S> {
    queue: mpsc::Sender<StateRead<S>>,
    claim: Claim,
}

impl<S> Default for StateReaders<S> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<S> StateReaders<S> {
    /// Lets the state of a partition be read under `claim`, in place of an earlier one; the task takes the reads.
    pub(super) fn open(&self, at: &TopicPartition, claim: Claim) -> mpsc::Receiver<StateRead<S>> {
        let (queue, reads) = mpsc::channel(MOST_WAITING);
        let mut readers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        readers.insert(at.clone(), StateReader { queue, claim });
        reads
    }

    pub(super) fn close(&self, at: &TopicPartition) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(at);
    }

    fn queue(&self, at: &TopicPartition) -> Result<(mpsc::Sender<StateRead<S>>, Claim), StateReadError> {
        let readers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let reader = readers.get(at).filter(|reader| reader.claim.is_valid());
        let reader = reader.ok_or_else(|| StateReadError::NotOwned(at.clone()))?;
        Ok((reader.queue.clone(), reader.claim.clone()))
    }

    /// Calls `look` with the state. Its answer counts only if the claim is valid afterwards too.
    ///
    /// Cancel safe: the look may be made all the same.
    ///
    /// # Panics
    ///
    /// `look` panics. The partition goes on.
    pub(super) async fn read<R: Send + 'static>(
        &self,
        at: &TopicPartition,
        look: impl FnOnce(&S, Epoch) -> R + Send + 'static,
    ) -> Result<R, StateReadError> {
        let (queue, claim) = self.queue(at)?;
        let (answer, answered) = oneshot::channel();
        let read = Box::new(move |state: &S, epoch| {
            // A panic is whoever asked to have, not the partition's task. They may have given up.
            let _ = answer.send(catch_unwind(AssertUnwindSafe(|| look(state, epoch))));
        });
        queue.try_send(read).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StateReadError::Busy(at.clone()),
            mpsc::error::TrySendError::Closed(_) => StateReadError::NotOwned(at.clone()),
        })?;
        let answer = answered.await.ok().filter(|_| claim.is_valid());
        let answer = answer.ok_or_else(|| StateReadError::NotOwned(at.clone()))?;
        Ok(answer.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}
