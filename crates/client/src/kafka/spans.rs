//! Spans of `tracing` around records.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kafka_assigner_handler::{PartitionContext, Record};
use tracing::{Span, field, info_span};

type Make = dyn Fn(&PartitionContext, &Record) -> Span + Send + Sync;

/// Makes the span in which a record is processed; clones share it.
#[derive(Clone)]
pub(super) struct RecordSpans(Arc<Make>);

impl RecordSpans {
    pub(super) fn new(make: impl Fn(&PartitionContext, &Record) -> Span + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn span(&self, context: &PartitionContext, record: &Record) -> Span {
        // A panic of it would end the partition's task, and it only looks on.
        catch_unwind(AssertUnwindSafe(|| (self.0)(context, record))).unwrap_or_else(|_| Span::none())
    }
}

impl fmt::Debug for RecordSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordSpans").finish_non_exhaustive()
    }
}

/// A span at the level INFO for the processing of a record, with the names of OpenTelemetry's conventions for messaging. The header
/// `traceparent` (W3C Trace Context) is a field as it is; set it as the parent with what your tracing system has for that.
#[must_use]
pub fn process_span(context: &PartitionContext, record: &Record) -> Span {
    let at = record.at();
    let traceparent = record.header("traceparent").and_then(|value| std::str::from_utf8(value).ok());
    let span = info_span!(
        "process",
        otel.kind = "consumer",
        messaging.system = "kafka",
        messaging.operation.name = "process",
        "messaging.operation.type" = "process",
        messaging.destination.name = at.topic.as_str(),
        messaging.destination.partition.id = at.partition,
        messaging.kafka.offset = record.offset().get(),
        epoch = context.epoch().0,
        traceparent = field::Empty,
    );
    if let Some(traceparent) = traceparent {
        span.record("traceparent", traceparent);
    }
    span
}
