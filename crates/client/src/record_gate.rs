//! The gate of records: whether more may be begun, and when none is in the works.
//!
//! In the mode `routed` requests are held back while a partition moves, and the old owner stops only between two records.
//! So before that it *rests*: the records in the works are waited for, and where they take long, none is begun until the
//! move is over. Requests are answered all the while. Short records go on: one of them delays the stop by no more than it
//! takes.
//!
//! And it is *closed* from the moment on that a handler is told to stop. Whoever waits for a record is then told so: a
//! handler waits for its own loop before it has stopped, and the move would wait for both. The Kafka runner has a word to
//! stop of its own, and looks at the rest alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_session::Clock;
use kafka_assigner_types::moment::Moment;
use tokio::sync::Notify;

/// A record that takes longer is long: several of them would use up the 10 s for which requests are held back.
const LONG: Duration = Duration::from_secs(1);

/// For so long after a long record the next one is expected to be long too.
const EXPECTED: Duration = Duration::from_secs(60);

/// Counts the records of a partition that are in the works, under whichever grant they were begun.
#[derive(Debug)]
pub(crate) struct RecordGate {
    clock: Clock,
    records: Mutex<Records>,
    /// True while there is a wish to rest, for a look without the lock.
    rests: AtomicBool,
    /// Told when one who waits for a record has to look again.
    changed: Notify,
    /// Wakes whoever looks after all gates.
    wake: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Records {
    in_works: u64,
    /// The end of the last long record.
    last_long: Option<Moment>,
    rest: Rest,
    /// True if the handler was told to stop.
    closed: bool,
}

/// The part of the wish to rest that is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rest {
    /// There is none.
    #[default]
    None,
    /// Records are in the works still.
    Awaited,
    /// None was in the works at some time since.
    Reached {
        /// True if none may be begun, since it may take long.
        holds: bool,
    },
}

/// The right to handle one record, until it is dropped. Keep it for as long as the record is in the works, and no longer.
#[derive(Debug)]
#[must_use = "a record is in the works only while its permit lives"]
pub struct RecordPermit {
    gate: Arc<RecordGate>,
    begun: Moment,
}

impl RecordGate {
    /// An open gate. Each time that a rest is reached, `wake` is notified.
    pub(crate) fn new(clock: Clock, wake: Arc<Notify>) -> Self {
        let rests = AtomicBool::default();
        Self { clock, records: Mutex::default(), rests, changed: Notify::new(), wake }
    }

    /// Begins a record; `None` = none may be begun now, since the partition rests.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<RecordPermit> {
        let begun = self.clock.now();
        let mut records = self.records();
        if records.rest.holds() {
            return None;
        }
        records.in_works += 1;
        Some(RecordPermit { gate: self.clone(), begun })
    }

    /// Waits until records may be begun, as far as the rest is concerned.
    ///
    /// Cancel safe.
    pub(crate) async fn opened(&self) {
        loop {
            // Registered before looking, so that no change can slip in between.
            let opened = self.changed.notified();
            if !self.records().rest.holds() {
                return;
            }
            opened.await;
        }
    }

    /// Tells everybody who asks that the handler is to stop.
    pub(crate) fn close(&self) {
        self.records().closed = true;
        self.changed.notify_waiters();
    }

    /// The handler begins, or goes on.
    pub(crate) fn open(&self) {
        self.records().closed = false;
    }

    /// True if the handler was told to stop.
    pub(crate) fn is_closed(&self) -> bool {
        self.records().closed
    }

    /// Waits until the handler is told to stop.
    ///
    /// Cancel safe.
    pub(crate) async fn closed(&self) {
        loop {
            // Registered before looking, so that no change can slip in between.
            let closed = self.changed.notified();
            if self.is_closed() {
                return;
            }
            closed.await;
        }
    }

    /// Begins no record until those in the works have ended, and where they take long, none until
    /// [`end_rest`](Self::end_rest).
    pub(crate) fn rest(&self) {
        let mut records = self.records();
        if records.rest == Rest::None {
            records.rest = Rest::Awaited;
            self.rests.store(true, Ordering::SeqCst);
            self.settle(records);
        }
    }

    /// Begins records as always.
    pub(crate) fn end_rest(&self) {
        let mut records = self.records();
        records.rest = Rest::None;
        self.rests.store(false, Ordering::SeqCst);
        drop(records);
        self.changed.notify_waiters();
    }

    /// True if it is to rest, and no record was in the works at some time since.
    pub(crate) fn has_rested(&self) -> bool {
        matches!(self.records().rest, Rest::Reached { .. })
    }

    fn end(&self, begun: Moment) {
        let now = self.clock.now();
        let mut records = self.records();
        records.in_works -= 1;
        if now.since(begun) >= LONG {
            records.last_long = Some(now);
        }
        self.settle(records);
    }

    /// Notes that a rest is reached, where it is.
    fn settle(&self, mut records: MutexGuard<'_, Records>) {
        if records.rest != Rest::Awaited || records.in_works > 0 {
            return;
        }
        let now = self.clock.now();
        let holds = records.last_long.is_some_and(|at| now.since(at) < EXPECTED);
        records.rest = Rest::Reached { holds };
        drop(records);
        self.changed.notify_waiters();
        self.wake.notify_one();
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "kafka")]
impl RecordPermit {
    /// The record has ended at `now`, and another one begins under the same permit, as if that were a new one. False = the
    /// gate has to be asked for a new one once this is dropped: there is a wish to rest, or the record was long.
    pub(crate) fn renew(&mut self, now: Moment) -> bool {
        if self.gate.rests.load(Ordering::SeqCst) || now.since(self.begun) >= LONG {
            return false;
        }
        self.begun = now;
        true
    }
}

impl Rest {
    /// True if no record may be begun.
    const fn holds(self) -> bool {
        matches!(self, Self::Awaited | Self::Reached { holds: true })
    }
}

impl Drop for RecordPermit {
    fn drop(&mut self) {
        self.gate.end(self.begun);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    fn gate() -> Arc<RecordGate> {
        Arc::new(RecordGate::new(Clock::of_the_runtime(), Arc::default()))
    }

    /// A record that takes `millis`.
    async fn record(gate: &Arc<RecordGate>, millis: u64) {
        let permit = gate.begin().expect("records may be begun");
        advance(Duration::from_millis(millis)).await;
        drop(permit);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_reached_when_the_record_in_the_works_has_ended() {
        let gate = gate();
        let permit = gate.begin().expect("open");
        gate.rest();
        assert!(!gate.has_rested() && gate.begin().is_none());
        drop(permit);
        assert_eq!(gate.wake.notified().now_or_never(), Some(()));
        assert!(gate.has_rested());
    }

    #[tokio::test(start_paused = true)]
    async fn short_records_go_on_once_it_has_rested_and_long_ones_wait_for_its_end() {
        let gate = gate();
        record(&gate, 900).await;
        gate.rest();
        assert!(gate.has_rested());
        drop(gate.begin().expect("its records are short"));
        gate.end_rest();
        record(&gate, 1_000).await;
        gate.rest();
        assert!(gate.has_rested() && gate.begin().is_none());
        let mut opened = Box::pin(gate.opened());
        assert!(opened.as_mut().now_or_never().is_none());
        gate.end_rest();
        assert_eq!(opened.now_or_never(), Some(()));
        assert!(gate.begin().is_some() && !gate.has_rested());
    }

    #[tokio::test(start_paused = true)]
    async fn one_long_record_is_forgotten_after_a_minute() {
        let gate = gate();
        record(&gate, 1_000).await;
        advance(EXPECTED).await;
        gate.rest();
        assert!(gate.begin().is_some());
    }

    #[cfg(feature = "kafka")]
    #[tokio::test(start_paused = true)]
    async fn a_permit_is_renewed_unless_there_is_a_wish_to_rest_or_the_record_was_long() {
        let gate = gate();
        let mut permit = gate.begin().expect("open");
        for _ in 0..3 {
            advance(Duration::from_millis(900)).await;
            assert!(permit.renew(gate.clock.now()), "each record counts by itself");
        }
        gate.rest();
        assert!(!permit.renew(gate.clock.now()) && !gate.has_rested());
        drop(permit);
        assert!(gate.has_rested());
        gate.end_rest();
        let mut permit = gate.begin().expect("its records are short");
        advance(Duration::from_millis(1_000)).await;
        assert!(!permit.renew(gate.clock.now()));
        drop(permit);
        gate.rest();
        assert!(gate.begin().is_none(), "the next one may be long too");
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_records_at_once_all_are_waited_for() {
        let gate = gate();
        let (first, second) = (gate.begin(), gate.begin());
        gate.rest();
        drop(first);
        assert!(!gate.has_rested());
        drop(second);
        assert!(gate.has_rested());
    }
}
