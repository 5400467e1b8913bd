//! Another offset for a partition, whether it is ahead of what is committed or behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kafka_assigner_types::id::{Offset, TopicPartition};
use tokio::time::Instant;

use super::{Commits, ProcessedPosition, Tracked};
use crate::kafka::client::{Client, Position};
use crate::kafka::error::KafkaRunnerError;

impl Commits {
    /// Commits `to` for a partition, and goes on from there. Nothing else of it is committed meanwhile, so whoever processes
    /// it waits for this.
    ///
    /// Where it is dropped, nothing of the partition is committed any more: it is for a task that ends with its partition.
    ///
    /// # Errors
    ///
    /// It was not committed, or there was no answer; what was processed is then committed once more. Or the claim has ended.
    pub(in crate::kafka) async fn move_to(
        &self,
        client: &Client,
        partition: &TopicPartition,
        to: Offset,
    ) -> Result<(), KafkaRunnerError> {
        let taken = self.tracked().remove(partition);
        let mut tracked = taken.ok_or_else(|| KafkaRunnerError::NotHeld(partition.clone()))?;
        let moved = commit_at(client, &tracked, partition, to).await;
        match moved {
            Ok(()) => {
                tracked.go_on_at(to);
                self.note_topic(partition, tracked.topic_id);
            }
            // It may have taken effect, so the next commit says where the partition is.
            Err(_) => tracked.at = None,
        }
        // One that has lapsed may be valid again.
        if !tracked.claim.has_ended() {
            self.tracked().insert(partition.clone(), tracked);
        }
        moved
    }
}

impl Tracked {
    fn go_on_at(&mut self, next: Offset) {
        (self.processed, self.committed, self.at) = (ProcessedPosition::at(next), next, Some(Instant::now()));
    }
}

async fn commit_at(
    client: &Client,
    tracked: &Tracked,
    partition: &TopicPartition,
    to: Offset,
) -> Result<(), KafkaRunnerError> {
    let position = Position { next: to, ..tracked.position(partition) };
    let (claim, has_landed) = (tracked.claim.clone(), Arc::new(AtomicBool::new(false)));
    // Asked when its turn has come: by then the claim may have ended.
    let due = move || if claim.is_valid() { vec![position] } else { Vec::new() };
    let landed = has_landed.clone();
    let note = move |committed: &[Position]| landed.store(!committed.is_empty(), Ordering::SeqCst);
    client.commit(due, note).await?;
    let landed = has_landed.load(Ordering::SeqCst);
    landed.then_some(()).ok_or_else(|| KafkaRunnerError::NotHeld(partition.clone()))
}
