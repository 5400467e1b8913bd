//! The place between the driver and all handles of one consumer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::NativeFailure;
use crate::cell::PartitionCell;

/// The outcome of a consumer that is over.
pub(crate) type ConsumerOutcome = Result<(), NativeFailure>;

/// The place between the driver and the handles. All of it is state: a wake-up that is missed costs nothing.
#[derive(Debug, Default)]
pub(crate) struct ConsumerCore {
    /// Wakes the driver.
    pub(crate) work: Notify,
    /// Wakes whoever waits for partitions, or for anything of any partition.
    pub(crate) changed: Notify,
    /// The calls of the application that wait for records or partitions now.
    waiting: AtomicUsize,
    /// True where the application has asked since the driver looked.
    asked: AtomicBool,
    state: Mutex<CoreState>,
}

#[derive(Debug, Default)]
struct CoreState {
    /// Partitions that the application has not taken yet; never more than are owned.
    arrivals: VecDeque<Arc<PartitionCell>>,
    close_within: Option<Duration>,
    outcome: Option<ConsumerOutcome>,
}

/// A call that waits: as long as there is one, the application counts as one that asks for records.
#[derive(Debug)]
pub(crate) struct WaitingCall<'a>(&'a ConsumerCore);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConsumerCore {
    fn state(&self) -> MutexGuard<'_, CoreState> {
        // Nothing that can panic is done while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The application asks for records, for as long as the value lives. The driver looks once a second, and is not woken:
    /// who asks for each record would wake it for each.
    pub(crate) fn asks(&self) -> WaitingCall<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.asked.store(true, Ordering::Relaxed);
        WaitingCall(self)
    }

    /// True where the application has asked for records since the last call, or waits for some.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed) || self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn arrive(&self, cell: Arc<PartitionCell>) {
        self.state().arrivals.push_back(cell);
        self.changed.notify_waiters();
    }

    pub(crate) fn next_arrival(&self) -> Option<Arc<PartitionCell>> {
        self.state().arrivals.pop_front()
    }

    /// Partitions that ended before anybody took them are released.
    pub(crate) fn drop_ended_arrivals(&self) {
        let mut state = self.state();
        for cell in std::mem::take(&mut state.arrivals) {
            if cell.ended().is_some() { cell.release() } else { state.arrivals.push_back(cell) }
        }
    }

    /// Asks the driver to close; a second time may only bring the end forward.
    pub(crate) fn close(&self, within: Duration) {
        let mut state = self.state();
        state.close_within = Some(state.close_within.map_or(within, |earlier| earlier.min(within)));
        drop(state);
        self.work.notify_one();
    }

    pub(crate) fn take_close(&self) -> Option<Duration> {
        self.state().close_within.take()
    }

    pub(crate) fn conclude(&self, outcome: ConsumerOutcome) {
        self.state().outcome.get_or_insert(outcome);
        self.changed.notify_waiters();
    }

    pub(crate) fn outcome(&self) -> Option<ConsumerOutcome> {
        self.state().outcome.clone()
    }
}
