//! Seeking: another place to go on at, commanded from outside of the partition's task.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_assigner_handler::StartPosition;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::sync::{mpsc, oneshot};

use super::error::KafkaRunnerError;

/// A partition does not go on elsewhere: it is where it was, unless the commit was not answered.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SeekError {
    /// The partition is not processed here under this epoch, or its claim is not valid.
    #[error("{partition} is not owned here under epoch {epoch}")]
    NotOwned {
        /// The partition.
        partition: TopicPartition,
        /// The epoch that was named.
        epoch: Epoch,
    },
    /// Another one is under way, or the partition is busy with a record; try again.
    #[error("another seek of {0} is under way")]
    Busy(TopicPartition),
    /// The handler could not end its work, so that no record is begun before the partition is granted again.
    #[error("{0} stands, since its handler could not end its work")]
    Stands(TopicPartition),
    /// The place can't be found in the log, or can't be committed. [`StartPosition::Refuse`] names none.
    #[error("the place in the log can't be taken")]
    Kafka(#[from] KafkaRunnerError),
}

/// A place to go on at, and who asks for it.
pub(super) struct SeekRequest {
    pub(super) to: StartPosition,
    /// The epoch of the owner for whom it is meant.
    pub(super) epoch: Epoch,
    pub(super) answer: oneshot::Sender<Result<Offset, SeekError>>,
}

/// The way from one place in a log to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeekWay {
    /// The records in between are read into the state, without effects.
    Forward,
    /// The state is further than the place: it is built anew up to there.
    Back,
}

/// The way of a partition whose next record to take is at `next`, to `place`.
pub(super) fn seek_way(next: Offset, place: Offset) -> SeekWay {
    if place < next { SeekWay::Back } else { SeekWay::Forward }
}

/// The tasks that take seeks, by partition.
#[derive(Debug, Default)]
pub(super) struct Seeks(Mutex<BTreeMap<TopicPartition, mpsc::Sender<SeekRequest>>>);

impl Seeks {
    fn queues(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, mpsc::Sender<SeekRequest>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a task take the seeks of a partition, in place of an earlier one. One may wait: a second one would go back on it.
    pub(super) fn open(&self, at: &TopicPartition) -> mpsc::Receiver<SeekRequest> {
        let (queue, requests) = mpsc::channel(1);
        self.queues().insert(at.clone(), queue);
        requests
    }

    pub(super) fn close(&self, at: &TopicPartition) {
        self.queues().remove(at);
    }

    /// Asks the task of a partition, and waits for its answer.
    ///
    /// Cancel safe: the partition may go on elsewhere all the same.
    pub(super) async fn seek(
        &self,
        at: &TopicPartition,
        epoch: Epoch,
        to: StartPosition,
    ) -> Result<Offset, SeekError> {
        let not_owned = || SeekError::NotOwned { partition: at.clone(), epoch };
        let queue = self.queues().get(at).cloned().ok_or_else(not_owned)?;
        let (answer, answered) = oneshot::channel();
        queue.try_send(SeekRequest { to, epoch, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SeekError::Busy(at.clone()),
            mpsc::error::TrySendError::Closed(_) => not_owned(),
        })?;
        // The queue would keep a task's end from being seen.
        drop(queue);
        answered.await.unwrap_or_else(|_| Err(not_owned()))
    }
}

impl std::fmt::Debug for SeekRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeekRequest")
            .field("to", &self.to)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).expect("a valid name")
    }

    #[test]
    fn only_a_state_that_is_further_than_the_place_is_built_anew() {
        let way =
            |place| seek_way(Offset::new(7).expect("not negative"), Offset::new(place).expect("the same"));
        assert_eq!([6, 7, 8].map(way), [SeekWay::Back, SeekWay::Forward, SeekWay::Forward]);
    }

    #[tokio::test]
    async fn a_seek_that_nobody_takes_is_refused_and_one_at_a_time_waits() {
        let seeks = std::sync::Arc::new(Seeks::default());
        let refused = seeks.seek(&at(), Epoch(5), StartPosition::Earliest).await;
        assert!(matches!(refused, Err(SeekError::NotOwned { .. })), "{refused:?}");
        let requests = seeks.open(&at());
        let waiting = tokio::spawn({
            let seeks = seeks.clone();
            async move { seeks.seek(&at(), Epoch(5), StartPosition::Earliest).await }
        });
        tokio::task::yield_now().await;
        let busy = seeks.seek(&at(), Epoch(5), StartPosition::Earliest).await;
        assert!(matches!(busy, Err(SeekError::Busy(_))), "{busy:?}");
        drop(requests);
        let ended = waiting.await.expect("no panic");
        assert!(matches!(ended, Err(SeekError::NotOwned { .. })), "{ended:?}");
    }
}
