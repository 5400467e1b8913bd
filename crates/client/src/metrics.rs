//! The metrics of a consumer's process, told through the facade `metrics`: whoever installs a recorder gets them.
//!
//! Nothing here is on the path of a record. Counters are read where they are kept, every ten seconds.

use std::sync::Once;

use ::metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// A metric: its name with its unit, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: MetricKind,
    /// The meaning, for people.
    pub meaning: &'static str,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only rises.
    Counter,
    /// A value of now.
    Gauge,
    /// Times, in seconds.
    Seconds,
}

const fn counter(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Counter, meaning }
}

const fn gauge(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, kind: MetricKind::Gauge, meaning }
}

/// Labels of the first two: `group`, `consumer`. Of all others: `kafka_group`, the group under which offsets are committed, and
/// `consumer` where `KafkaOptions::consumer` names one.
pub const METRICS: [Metric; 14] = [
    SESSIONS_LOST,
    CLAIMS_LAPSED,
    PROCESSED,
    RETRIED,
    SKIPPED,
    DEAD_LETTERED,
    GAPS,
    COMMIT_TIME,
    COMMITS_FAILED,
    LAG,
    PARTITIONS,
    PAUSED,
    STARVED,
    WARM_UP,
];

pub(crate) const SESSIONS_LOST: Metric =
    counter("kafka_assigner_client_sessions_lost_total", "Sessions that were lost.");
pub(crate) const CLAIMS_LAPSED: Metric = counter(
    "kafka_assigner_client_claims_lapsed_total",
    "Times at which the claim ran out, since no instance confirmed the session.",
);
pub(crate) const PROCESSED: Metric = counter(
    "kafka_assigner_client_records_processed_total",
    "Records that were processed, those that were passed over included.",
);
pub(crate) const RETRIED: Metric = counter(
    "kafka_assigner_client_attempts_failed_total",
    "Attempts to handle a record that failed and were repeated.",
);
pub(crate) const SKIPPED: Metric = counter(
    "kafka_assigner_client_records_skipped_total",
    "Records that were passed over without a letter, in processing or in a rebuild.",
);
pub(crate) const DEAD_LETTERED: Metric = counter(
    "kafka_assigner_client_records_dead_lettered_total",
    "Records that were written to the dead-letter topic.",
);
pub(crate) const GAPS: Metric =
    counter("kafka_assigner_client_gaps_total", "Gaps of records that were removed before they were read.");
pub(crate) const COMMIT_TIME: Metric = Metric {
    name: "kafka_assigner_client_commit_seconds",
    kind: MetricKind::Seconds,
    meaning: "Time from the wish to commit to the broker's answer, the wait for the commit before included.",
};
pub(crate) const COMMITS_FAILED: Metric =
    counter("kafka_assigner_client_commits_failed_total", "Commits that failed or were not answered.");
pub(crate) const LAG: Metric = gauge(
    "kafka_assigner_client_lag_records",
    "Offsets from what is committed to the end of the log, of all partitions of a topic that are owned. Label: topic.",
);
pub(crate) const PARTITIONS: Metric = gauge(
    "kafka_assigner_client_partitions",
    "Partitions that are held. Label: phase = warming, warm, owned, drained; stopped for those that stand, and failing for those whose next record has failed for a minute.",
);
pub(crate) const PAUSED: Metric =
    gauge("kafka_assigner_client_paused_partitions", "Partitions that are owned and paused.");
pub(crate) const STARVED: Metric = gauge(
    "kafka_assigner_client_starved_partitions",
    "Partitions that are owned, of which nothing was fetched for ten seconds though the log goes on.",
);
pub(crate) const WARM_UP: Metric = gauge(
    "kafka_assigner_client_warm_up_ratio",
    "The part that is done of the warm-up that is least far, from 0 to 1; 1 where there is none.",
);

/// Tells the recorder that is installed what the metrics mean. A consumer does so at its start; only the first call counts.
pub fn describe_metrics() {
    static DESCRIBED: Once = Once::new();
    DESCRIBED.call_once(|| METRICS.iter().for_each(describe));
}

fn describe(metric: &Metric) {
    let Metric { name, kind, meaning } = *metric;
    match kind {
        MetricKind::Counter => describe_counter!(name, Unit::Count, meaning),
        MetricKind::Gauge => describe_gauge!(name, Unit::Count, meaning),
        MetricKind::Seconds => describe_histogram!(name, Unit::Seconds, meaning),
    }
}
