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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::SessionClaim;
    use crate::kafka::KafkaOptions;
    use crate::moment::{Clock, Moment};
    use crate::session::Term;

    /// A claim that is valid for an hour.
    fn claim() -> Claim {
        let (clock, until) = (Clock::start(), Moment::after_start(Duration::from_secs(3_600)));
        let session = SessionClaim::new(clock);
        session.set(Some(Term { overlap: until, strict: until }));
        session.partition(5, true)
    }

    #[tokio::test]
    async fn a_commit_whose_claim_ends_while_it_waits_for_its_turn_is_not_sent() {
        let client = Client::new(&KafkaOptions::new("127.0.0.1:1", "g")).expect("valid options");
        let (commits, at, claim) = (Commits::default(), TopicPartition::new("t", 0), claim());
        commits.begin(&at, claim.clone(), 7);
        commits.processed(&at, 8);
        let turn = client.turn().await;
        let commit = tokio::spawn({
            let (commits, client) = (commits.clone(), client.clone());
            async move { commits.commit(&client, None).await }
        });
        tokio::task::yield_now().await;
        assert!(!commit.is_finished(), "it is due, and waits");
        claim.end();
        drop(turn);
        commit.await.expect("no panic").expect("the broker, which is not there, is not asked");
    }
}
