//! Asks for the topics of all groups that this instance leads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::moment::Moment;
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
        Self { source, board, schedule, clock, entropy, metrics, next }
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
            // A topic in doubt should not wait for it either.
            from = self.board.until_hasty() => return self.hasten(from),
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
                self.board.take_in(found, self.clock.now());
                self.succeeded();
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Moves the next look of all topics forward, though not before `from`. While looks fail their waits grow, and who is in
    /// doubt asks again after the next answer.
    fn hasten(&mut self, from: Moment) {
        if !self.schedule.fails() {
            let spread = self.schedule.spread(self.entropy.number());
            self.next = self.next.min(self.clock.instant(from) + spread);
        }
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
        self.next = now + wait;
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
