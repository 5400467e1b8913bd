//! librdkafka's own statistics.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

type Take = dyn Fn(&str) + Send + Sync;

/// Takes librdkafka's statistics, which tell of each broker, topic and partition: requests, bytes, round trips, queues. Cheap to
/// clone.
///
/// Each client of librdkafka has its own, by its `name`: those that read and the one that commits. Two are equal if they are clones
/// of each other.
#[derive(Clone)]
pub struct StatisticsSink {
    take: Arc<Take>,
    every: Duration,
}

impl StatisticsSink {
    /// Calls `take` with a JSON text, as librdkafka's `STATISTICS.md` describes it, on librdkafka's own event threads; so it
    /// must not block for long. `every` counts in milliseconds; making a text of a thousand partitions takes milliseconds too.
    pub fn new(every: Duration, take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { take: Arc::new(take), every }
    }

    /// The setting `statistics.interval.ms`, within its bounds.
    pub(super) fn interval_ms(&self) -> u128 {
        self.every.as_millis().clamp(1, 86_400_000)
    }

    pub(super) fn take(&self, statistics: &[u8]) {
        // Tokens are fetched on the same thread, so a panic must not end it; the runtime has printed it.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.take)(&String::from_utf8_lossy(statistics))));
    }
}

impl PartialEq for StatisticsSink {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.take, &other.take)
    }
}

impl Eq for StatisticsSink {}

impl fmt::Debug for StatisticsSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatisticsSink").field("every", &self.every).finish_non_exhaustive()
    }
}
