//! Looks at all partitions of a runner every ten seconds, and the metrics that are made of them.

mod sums;

use std::collections::BTreeMap;
use std::time::Duration;

use ::metrics::{counter, gauge};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;
use tokio::time::sleep;

use super::client::Client;
use super::held::RunnerPartition;
use super::log_ends;
use super::metric_labels::MetricLabels;
use super::runner_handle::RunnerHandle;
use super::runner_watch::RecordCounts;
use crate::metrics::{
    DEAD_LETTERED, GAPS, LAG, PARTITIONS, PAUSED, PROCESSED, RETRIED, SKIPPED, STARVED, WARM_UP,
};
use sums::{PHASES, RunnerSums, has_stood_still, sums};

/// The time between two looks. Each asks every broker once, whatever the number of partitions; graphs and alarms, which are
/// made of it, look every ten seconds or less often.
const EVERY: Duration = Duration::from_secs(10);

/// Looks at the partitions of one runner.
pub(super) struct Survey<S> {
    client: Client,
    handle: RunnerHandle<S>,
    labels: MetricLabels,
    /// The partitions as they were at the look before.
    before: BTreeMap<TopicPartition, RunnerPartition>,
    /// The lag of topics that was told last.
    told: BTreeMap<TopicName, u64>,
}

impl<S: Send + 'static> Survey<S> {
    pub(super) const fn new(client: Client, handle: RunnerHandle<S>, labels: MetricLabels) -> Self {
        Self { client, handle, labels, before: BTreeMap::new(), told: BTreeMap::new() }
    }

    /// Looks again and again, until it is dropped. A broker that does not answer costs its partitions a second, and they keep
    /// the end that was known before.
    pub(super) async fn keep_looking(mut self) {
        loop {
            self.look().await;
            sleep(EVERY).await;
        }
    }

    pub(super) async fn look(&mut self) {
        log_ends::look(&self.client, &self.handle.watch.held).await;
        let now = self.handle.partitions();
        let starved = now.iter().filter(|partition| self.is_starved(partition)).count();
        self.tell(&sums(&now), starved);
        self.tell_counts(self.handle.counts(), self.handle.processed());
        self.before = now.into_iter().map(|partition| (partition.partition.clone(), partition)).collect();
    }

    /// True if nothing was fetched since the look before, though the log went on. What was fetched and is with the handler, or
    /// is no record, has moved the position of librdkafka on.
    fn is_starved(&self, now: &RunnerPartition) -> bool {
        let Some(processed) = now.processed else { return false };
        let stood_still = has_stood_still(self.before.get(&now.partition), now);
        stood_still && self.client.position(&now.partition).is_none_or(|fetched| fetched <= processed)
    }

    fn tell(&mut self, sums: &RunnerSums, starved: usize) {
        let (labels, phase) = (&self.labels, |phase: &str| self.labels.and("phase", phase));
        // Those of which nothing is owned any more have no lag here.
        let gone = self.told.keys().filter(|topic| !sums.lag.contains_key(*topic)).map(|topic| (topic, &0));
        for (topic, lag) in sums.lag.iter().chain(gone) {
            gauge!(LAG.name, &labels.and("topic", topic.as_str())).set(*lag as f64);
        }
        for (name, number) in PHASES.iter().zip(sums.phases) {
            gauge!(PARTITIONS.name, &phase(name)).set(number as f64);
        }
        let stopped = self.handle.stopped().len();
        gauge!(PARTITIONS.name, &phase("stopped")).set(stopped as f64);
        let failing = self.handle.failing().len();
        gauge!(PARTITIONS.name, &phase("failing")).set(failing as f64);
        gauge!(PAUSED.name, labels.all()).set(sums.paused as f64);
        gauge!(STARVED.name, labels.all()).set(starved as f64);
        gauge!(WARM_UP.name, labels.all()).set(sums.warm_up);
        self.told.clone_from(&sums.lag);
    }

    fn tell_counts(&self, counts: RecordCounts, processed: u64) {
        let RecordCounts { retried, skipped, dead_lettered, gaps } = counts;
        for (metric, count) in [
            (PROCESSED, processed),
            (RETRIED, retried),
            (SKIPPED, skipped),
            (DEAD_LETTERED, dead_lettered),
            (GAPS, gaps),
        ] {
            counter!(metric.name, self.labels.all()).absolute(count);
        }
    }
}
