//! The calls that callers were not allowed, and the file that says so.

use kafka_assigner_proto::Reason;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;

/// The access of callers; clones share the numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct AccessMetrics {
    denied: Family<DenialLabel, Counter>,
    file_unusable: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DenialLabel {
    reason: &'static str,
}

impl AccessMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "calls_denied",
            "Calls that this instance refused since it did not know or not allow their caller, by reason",
            self.denied.clone(),
        );
        registry.register(
            "access_file_unusable",
            "1 while the access file can't be read or is none, so that what it said before goes on to count",
            self.file_unusable.clone(),
        );
    }
}

impl Metrics {
    /// A call was refused for its caller. By reason alone: callers could make up names without end.
    pub(crate) fn call_denied(&self, reason: Reason) {
        self.0.access.denied.get_or_create(&DenialLabel { reason: reason.as_str() }).inc();
    }

    /// The access file was looked at.
    pub(crate) fn access_file_usable(&self, is_usable: bool) {
        self.0.access.file_unusable.set(i64::from(!is_usable));
    }
}
