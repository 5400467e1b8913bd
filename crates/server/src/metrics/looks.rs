//! The looks at Kafka's topics.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

use super::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabel {
    reason: &'static str,
}

/// The looks of an instance at Kafka's topics; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct LookMetrics {
    failed: Family<FailureLabel, Counter>,
    last: LastLook,
}

/// The moment of the last look that succeeded, or of the first one while there was none; `None` where nobody wants a
/// topic. Its age is worked out when it is read.
#[derive(Debug, Clone, Default)]
struct LastLook(Arc<Mutex<Option<Instant>>>);

impl LastLook {
    fn moment(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().expect("nothing panics while it is held")
    }
}

impl Collector for LastLook {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(moment) = *self.moment() else { return Ok(()) };
        let age = ConstGauge::new(moment.elapsed().as_secs_f64());
        let help = "Time since Kafka last said something of the topics that this instance follows";
        let unit = Unit::Seconds;
        age.encode(encoder.encode_descriptor("topic_look_age", help, Some(&unit), age.metric_type())?)
    }
}

impl LookMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.last.clone()));
        registry.register(
            "topic_looks_failed",
            "Looks at Kafka's topics that no broker answered, by reason",
            self.failed.clone(),
        );
    }
}

impl Metrics {
    /// Kafka is asked for topics.
    pub(crate) fn looks_for_topics(&self) {
        self.0.looks.last.moment().get_or_insert_with(Instant::now);
    }

    /// Kafka has answered.
    pub(crate) fn saw_topics(&self) {
        *self.0.looks.last.moment() = Some(Instant::now());
    }

    /// Kafka has not answered.
    pub(crate) fn missed_topics(&self, reason: &'static str) {
        self.0.looks.failed.get_or_create(&FailureLabel { reason }).inc();
    }

    /// There is no topic to ask for.
    pub(crate) fn follows_no_topics(&self) {
        *self.0.looks.last.moment() = None;
    }
}
