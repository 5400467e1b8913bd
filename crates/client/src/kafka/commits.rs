//! What was processed and has to be committed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use super::KafkaRunnerError;
use super::client::{Client, Position};
use crate::claim::Claim;
use crate::partition::TopicPartition;

/// Positions by partition; clones share them.
#[derive(Clone, Default)]
pub(super) struct Commits(Arc<Mutex<BTreeMap<TopicPartition, Tracked>>>);

struct Tracked {
    claim: Claim,
    next: i64,
    committed: i64,
}

impl Commits {
    fn tracked(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Tracked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with a partition whose records before `next` need no commit.
    pub(super) fn begin(&self, partition: &TopicPartition, claim: Claim, next: i64) {
        self.tracked().insert(partition.clone(), Tracked { claim, next, committed: next });
    }

    /// The record before `next` was processed.
    pub(super) fn processed(&self, partition: &TopicPartition, next: i64) {
        if let Some(tracked) = self.tracked().get_mut(partition) {
            tracked.next = next;
        }
    }

    /// Nothing of the partition is committed any more.
    pub(super) fn forget(&self, partition: &TopicPartition) {
        self.tracked().remove(partition);
    }

    /// What may and must be committed now.
    fn due(&self, only: Option<&TopicPartition>) -> Vec<Position> {
        let tracked = self.tracked();
        let due = tracked.iter().filter(|(partition, tracked)| {
            only.is_none_or(|only| only == *partition)
                && tracked.next > tracked.committed
                && tracked.claim.is_valid()
        });
        due.map(|(partition, tracked)| Position {
            partition: partition.clone(),
            next: tracked.next,
            epoch: tracked.claim.epoch(),
        })
        .collect()
    }

    fn committed(&self, positions: &[Position]) {
        let mut tracked = self.tracked();
        for position in positions {
            if let Some(tracked) = tracked.get_mut(&position.partition) {
                tracked.committed = tracked.committed.max(position.next);
            }
        }
    }

    /// Commits what is due: of one partition, or of all.
    pub(super) async fn commit(
        &self,
        client: &Client,
        only: Option<&TopicPartition>,
    ) -> Result<(), KafkaRunnerError> {
        if self.due(only).is_empty() {
            return Ok(());
        }
        // Asked again when its turn has come: by then a claim may have ended.
        let (commits, only) = (self.clone(), only.cloned());
        let committed = client.commit(move || commits.due(only.as_ref())).await?;
        self.committed(&committed);
        Ok(())
    }

    /// Commits all the time.
    pub(super) async fn keep_committing(self, client: Client, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.commit(&client, None).await {
                warn!(error = &error as &dyn std::error::Error, "the next commit includes it");
            }
        }
    }
}
