//! Drains under way: each partition's by itself, so that a slow one delays no other.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_client::RetryDelay;
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use tracing::warn;

use super::Driver;
use crate::cutover::{Cutover, CutoverError};
use crate::router::RouterError;
use crate::transport::RoutingTransport;

/// Drains that fail so often in a row, over all partitions, won't succeed: with the waits below that takes at least
/// three seconds. Only a drain that succeeded resets the count, never time, or a broken router would run for ever.
const MOST_FAILURES: u32 = 10;
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// Failures of drains in a row.
#[derive(Debug)]
pub(super) struct Failures {
    count: u32,
    backoff: RetryDelay,
}

impl Failures {
    pub(super) const fn new() -> Self {
        Self { count: 0, backoff: RetryDelay::new(FIRST_RETRY, LONGEST_RETRY) }
    }

    const fn reset(&mut self) {
        self.count = 0;
        self.backoff.reset();
    }
}

/// A drain that ended.
pub(super) struct DrainEnd {
    at: TopicPartition,
    handoff: HandoffId,
    result: Result<(), CutoverError>,
}

impl<C: Cutover, T: RoutingTransport> Driver<C, T> {
    pub(super) fn begin_drain(&mut self, at: TopicPartition, handoff: HandoffId) {
        self.drains.begin(at.clone(), handoff.clone());
        self.drain(at, handoff, Duration::ZERO);
    }

    /// The partition is not to be drained any more.
    pub(super) fn end_drain(&mut self, at: &TopicPartition) {
        self.drains.end(at);
        if let Some(task) = self.drain_tasks.remove(at) {
            task.abort();
        }
    }

    pub(super) fn abandon_drains(&mut self) {
        self.drains.clear();
        self.drain_tasks.clear();
        self.draining.abort_all();
    }

    pub(super) fn drain_ended(&mut self, end: DrainEnd) {
        let DrainEnd { at, handoff, result } = end;
        match result {
            Ok(()) => {
                self.failures.reset();
                self.drains.drained(self.now(), &at, &handoff);
            }
            Err(error) => self.drain_failed(at, handoff, error),
        }
    }

    fn drain_failed(&mut self, at: TopicPartition, handoff: HandoffId, last: CutoverError) {
        self.failures.count += 1;
        warn!(group = &*self.group, partition = %at, %handoff, error = &*last, "drain failed");
        if self.failures.count >= MOST_FAILURES {
            return self.fail(RouterError::Drains { failures: self.failures.count, last });
        }
        if self.drains.holds(&at, &handoff) {
            let wait = self.failures.backoff.next(&mut self.dice);
            self.drain(at, handoff, wait);
        }
    }

    fn drain(&mut self, at: TopicPartition, handoff: HandoffId, wait: Duration) {
        let (cutover, of) = (self.router.cutover.clone(), at.clone());
        let task = self.draining.spawn(async move {
            tokio::time::sleep(wait).await;
            let drained = AssertUnwindSafe(cutover.drain(&of)).catch_unwind().await;
            let result = drained.unwrap_or_else(|_| Err("the drain panicked".into()));
            DrainEnd { at: of, handoff, result }
        });
        self.drain_tasks.insert(at, task);
    }
}
