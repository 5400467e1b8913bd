//! Asks for the topics of all groups that this instance leads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_types::name::TopicName;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::interest::TopicBoard;
use super::schedule::{FailedLook, RefreshSchedule};
use super::{Error, TopicSource};
use crate::clock::Monotonic;
use crate::entropy::Entropy;
use crate::metrics::Metrics;
use crate::refusal::describe;

/// The pause between two looks. What is named meanwhile is asked for together: a thousand groups that start at once cost a
/// few looks.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of looks that come after half of the interval each once a topic was denied or had another id: as many as it
/// takes to believe the denial, or to believe the id and see the topic's partitions.
const SOONER: u32 = 3;

/// The one task of an instance that asks for topics: the union of the names that its leaders want, in one look.
#[derive(Debug)]
pub(crate) struct TopicRefresher {
    source: Arc<dyn TopicSource>,
    board: TopicBoard,
    schedule: RefreshSchedule,
    clock: Monotonic,
    entropy: Arc<Entropy>,
    metrics: Metrics,
    next: Instant,
    /// The last word on each topic.
    last: Found,
    /// The number of looks that still come sooner.
    sooner: u32,
}

impl TopicRefresher {
    /// A refresher that looks every `interval`.
    pub(crate) fn new(
        source: Arc<dyn TopicSource>,
        board: TopicBoard,
        interval: Duration,
        clock: Monotonic,
        entropy: Arc<Entropy>,
        metrics: Metrics,
    ) -> Self {
        let (schedule, next) = (RefreshSchedule::new(interval), Instant::now() + interval);
        let (last, sooner) = (Found::new(), 0);
        Self { source, board, schedule, clock, entropy, metrics, next, last, sooner }
    }

    /// Asks until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.turn() => {}
            }
        }
    }

    /// Waits for the next look, and takes it.
    async fn turn(&mut self) {
        let names = tokio::select! {
            biased;
            () = sleep_until(self.next) => self.board.wanted(),
            // A consumer that names a topic nobody asked for yet should not wait for the refresh.
            names = self.board.until_unasked(), if !self.schedule.fails() => names,
        };
        if names.is_empty() {
            self.metrics.follows_no_topics();
            let (wait, _) = self.schedule.succeeded(self.entropy.number());
            self.next = Instant::now() + wait;
        } else {
            self.look(&names).await;
            sleep(PAUSE).await;
        }
    }

    async fn look(&mut self, names: &BTreeSet<TopicName>) {
        self.metrics.looks_for_topics();
        self.board.ask(names);
        match self.source.find(names).await {
            Ok(found) => {
                self.compare(&found);
                self.board.take_in(found, self.clock.now());
                self.succeeded();
            }
            Err(error) => self.failed(&error),
        }
    }

    /// A topic that is gone, or has another id, is looked at again sooner, until it is clear what became of it.
    fn compare(&mut self, found: &Found) {
        let is_another = |(name, look): (&TopicName, &Option<TopicLook>)| match (self.last.get(name), look) {
            (Some(Some(_)), None) => true,
            (Some(Some(before)), Some(now)) => {
                before.id.zip(now.id).is_some_and(|(before, now)| before != now)
            }
            _ => false,
        };
        if found.iter().any(is_another) {
            self.sooner = SOONER;
        }
        self.last.extend(found.clone());
        let wanted = self.board.wanted();
        self.last.retain(|name, _| wanted.contains(name));
    }

    /// A look for new names moves the next one for all of them only after failures.
    fn succeeded(&mut self) {
        self.metrics.saw_topics();
        let now = Instant::now();
        let is_due = self.next <= now || self.schedule.fails();
        if !is_due {
            return;
        }
        let (wait, failures) = self.schedule.succeeded(self.entropy.number());
        let comes_sooner = self.sooner > 0;
        self.sooner = self.sooner.saturating_sub(1);
        self.next = now + if comes_sooner { wait / 2 } else { wait };
        if failures > 0 {
            tracing::info!(failures, "Kafka answers again");
        }
    }

    fn failed(&mut self, error: &Error) {
        self.metrics.missed_topics(error.label);
        let FailedLook { failures, wait, is_told } = self.schedule.failed(self.entropy.number());
        self.next = Instant::now() + wait;
        let error = describe(error);
        if is_told {
            tracing::warn!(error, failures, ?wait, "Kafka can't be asked for topics; it is asked again");
        } else {
            tracing::debug!(error, failures, ?wait, "Kafka can't be asked for topics");
        }
    }
}

#[cfg(test)]
#[path = "refresher_test.rs"]
mod refresher_test;
