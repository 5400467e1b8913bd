//! The state of the forwarder that callers, the cutover and the dispatching loop share.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};

use super::polls::RunningPolls;
use crate::forward::{Forward, RequestError};
use crate::lane::RequestId;
use crate::lanes::{Lanes, StashLimits};
use crate::table::RoutingTable;

/// The requests of a forwarder, and all that it sends them with.
pub(super) struct ForwarderCore<F: Forward> {
    pub(super) forward: F,
    pub(super) send_timeout: Duration,
    pub(super) table: RoutingTable,
    state: Mutex<State<F::Response>>,
    /// Wakes the dispatching loop when a request may be sent.
    pub(super) wake: Notify,
    /// The time of the dispatching loop's last run, in microseconds that the process was awake, since a suspension
    /// stops everything; 0 = it does not run.
    pub(super) turned: AtomicU64,
    /// The polls of the transport that run now, by the same time.
    pub(super) polls: RunningPolls,
}

pub(super) struct State<R> {
    pub(super) lanes: Lanes,
    pub(super) callers: FxHashMap<RequestId, PendingRequest<R>>,
    pub(super) drains: Vec<(TopicPartition, oneshot::Sender<()>)>,
    pub(super) finishing: Vec<oneshot::Sender<()>>,
}

pub(super) struct PendingRequest<R> {
    pub(super) request: Bytes,
    pub(super) answer: oneshot::Sender<Result<R, RequestError>>,
}

impl<R> State<R> {
    /// Notifies waiting drains of a partition once none of its requests is in flight, and stops once none is held any more.
    pub(super) fn release(&mut self, at: &TopicPartition) {
        if self.lanes.is_drained(at) {
            for (_, drained) in self.drains.extract_if(.., |(of, _)| of == at) {
                // A drain that was given up does not listen.
                let _ = drained.send(());
            }
        }
        self.release_stop();
    }

    /// Notifies waiting stops once no request is held any more.
    pub(super) fn release_stop(&mut self) {
        if self.lanes.counts() == (0, 0) {
            for finished in self.finishing.drain(..) {
                // A stop that was given up does not listen.
                let _ = finished.send(());
            }
        }
    }
}

impl<F: Forward> ForwarderCore<F> {
    pub(super) fn new(forward: F, table: RoutingTable, limits: StashLimits, send_timeout: Duration) -> Self {
        let state = State {
            lanes: Lanes::new(limits),
            callers: FxHashMap::default(),
            drains: Vec::new(),
            finishing: Vec::new(),
        };
        let (state, wake, turned) = (Mutex::new(state), Notify::new(), AtomicU64::new(0));
        Self { forward, send_timeout, table, state, wake, turned, polls: RunningPolls::new() }
    }

    pub(super) fn now(&self) -> Moment {
        self.table.clock().now()
    }

    /// The time that the process was awake, in microseconds and above 0.
    pub(super) fn awake_micros(&self) -> u64 {
        let micros = self.table.clock().awake().as_micros();
        u64::try_from(micros).unwrap_or(u64::MAX).max(1)
    }

    /// The state, with the current end of the claim.
    pub(super) fn state(&self) -> MutexGuard<'_, State<F::Response>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lanes.claim(self.table.open_until());
        state
    }
}
