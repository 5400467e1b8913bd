//! The labels of a runner's metrics.

use super::options::KafkaOptions;

/// Tells the metrics of one runner from those of others in the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetricLabels(Vec<(&'static str, String)>);

impl MetricLabels {
    /// `kafka_group`, and `consumer` where the options name one.
    pub(super) fn of(options: &KafkaOptions) -> Self {
        let consumer = Some(&options.consumer).filter(|name| !name.is_empty());
        let group = [("kafka_group", options.group.clone())];
        Self(group.into_iter().chain(consumer.map(|name| ("consumer", name.clone()))).collect())
    }

    /// All of them.
    pub(super) const fn all(&self) -> &Vec<(&'static str, String)> {
        &self.0
    }

    /// The same, and another one.
    pub(super) fn and(&self, name: &'static str, value: &str) -> Vec<(&'static str, String)> {
        self.0.iter().cloned().chain([(name, value.to_owned())]).collect()
    }
}
