//! The turn of one partition: records that are there, for a while, without a reading of the clock or a lock for each question.

use std::time::Duration;

use kafka_assigner_handler::RecordHandler;
use kafka_assigner_types::moment::Moment;
use tokio::time::Instant;

use super::Processing;
use crate::kafka::partition::Partition;

/// The most records of a partition that are handled before another partition gets its turn.
const BATCH: usize = 512;
/// The same as a time: a few slow records must not keep others waiting for all of the batch.
const BATCH_TIME: Duration = Duration::from_millis(20);

impl<H: RecordHandler> Processing<H> {
    /// Handles records that are there, for a while.
    pub(super) async fn batch(&mut self, partition: &mut Partition<H::State>) {
        let (permits, stop) = (self.parts.permits.clone(), self.stop.clone());
        let _permit = tokio::select! {
            biased;
            // Nothing more is begun, so there is nothing to wait for.
            () = stop.given() => return,
            // Its turn.
            permit = permits.acquire() => permit.expect("never closed"),
        };
        self.handle_some(partition).await;
        self.end_turn();
        self.take_snapshot_when_due(partition);
        // Handlers that never wait must not keep the thread for themselves.
        tokio::task::yield_now().await;
    }

    /// Handles what is there, for a while. The time is asked for once for each record: at its end, which is when the next one
    /// begins.
    async fn handle_some(&mut self, partition: &mut Partition<H::State>) {
        let begun = self.owned.claim().clock().read();
        let mut now = begun;
        for _ in 0..BATCH {
            if !self.may_go_on(now.moment()) || !self.next(partition, now.moment()).await {
                return;
            }
            now = self.owned.claim().clock().read_after(now);
            if now.moment().since(begun.moment()) >= BATCH_TIME {
                return;
            }
        }
    }

    /// No record is in the works any more.
    pub(super) fn end_turn(&mut self) {
        self.in_works = None;
        self.busy.end();
        self.tell_handled();
        self.parts.watch.count_processed(std::mem::take(&mut self.uncounted));
    }

    /// Tells others of the last record that was handled.
    pub(super) fn tell_handled(&mut self) {
        if let Some(offset) = self.handled.take() {
            self.owned.handled(offset);
        }
    }

    /// Begins a record at `now`, which is in the works until the next one or the end of the turn; false = none may be begun.
    pub(super) fn begin_record(&mut self, now: Moment) -> bool {
        if self.in_works.as_mut().is_some_and(|permit| permit.renew(now)) {
            return true;
        }
        // The end of the one before is what a rest waits for.
        self.in_works = None;
        self.in_works = self.owned.records.begin();
        if self.in_works.is_some() {
            self.busy.begin();
        }
        self.in_works.is_some()
    }

    /// True if no record is to be begun until somebody outside says so.
    pub(super) fn waits(&self) -> bool {
        self.standing.is_now() || self.is_paused()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause.holds(self.owned.epoch())
    }

    fn may_go_on(&self, now: Moment) -> bool {
        let waits = self.waits() || self.retry_at.is_some_and(|at| at > Instant::now());
        !waits && !self.overlapped && self.owned.claim().is_valid_at(now)
    }
}
