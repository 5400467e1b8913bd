//! One record after the other into a state, without effects.

use std::time::Duration;

use kafka_assigner_handler::{Record, RecordError, RecordHandler, Remedy, guarded};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::catching_up::CatchingUp;
use super::interrupted::Interrupted;
use crate::kafka::cursor::Ahead;
use crate::kafka::partition::Partition;
use crate::kafka::runner_parts::{RunnerParts, can_spoil};
use crate::kafka::runner_watch::CountedRecord;
use crate::status::StoppedPartition;

/// The time after which other tasks get their turn, however many records that takes.
const SLICE: Duration = Duration::from_millis(5);
/// The clock is read once in so many records.
const RECORDS_A_LOOK: u32 = 8;

impl<H: RecordHandler> CatchingUp<'_, H> {
    /// Brings the state forward up to `bound`, or to the end.
    pub(super) async fn catch_up(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
        bound: Offset,
    ) -> Result<(), Interrupted> {
        let mut slice = Slice::default();
        loop {
            match partition.reader.ahead().await? {
                Ahead::Record(offset) if offset < bound => {}
                Ahead::Record(_) | Ahead::End => return Ok(()),
            }
            self.apply(at, partition).await?;
            slice.yield_when_over().await;
        }
    }

    /// Brings the state forward by the record that is ahead. Where that fails, the record stays ahead: whoever tries again
    /// begins with it.
    pub(super) async fn apply(
        &self,
        at: &TopicPartition,
        partition: &mut Partition<H::State>,
    ) -> Result<(), Interrupted> {
        let Some(record) = partition.take() else { return Ok(()) };
        if partition.failures.passes_over(record.offset()) {
            self.parts.watch.count(CountedRecord::Skip);
            partition.settle();
            return Ok(());
        }
        loop {
            let call = self.parts.handler.catch_up(at, &mut partition.state, &record);
            let Err(error) = guarded(call).await else { break };
            match self.after_failure(at, &record, &error).await {
                AfterFailure::Again => {}
                AfterFailure::PassOver => break,
                AfterFailure::End(interrupted) => {
                    if matches!(interrupted, Interrupted::Failed(_)) {
                        partition.put_back(record);
                    }
                    return Err(interrupted);
                }
            }
        }
        partition.settle();
        Ok(())
    }

    /// Decides about a record whose `catch_up` failed, and waits where it comes again.
    async fn after_failure(&self, at: &TopicPartition, record: &Record, error: &RecordError) -> AfterFailure {
        let RunnerParts { rules, watch, .. } = self.parts;
        let (offset, spoils) = (record.offset(), error.is_spoiled() && can_spoil::<H::State>());
        let (remedy, attempts) = watch.decide(at, offset, error, &rules.policy);
        warn!(partition = %at, %offset, attempts, ?remedy, error = error.text(), "catching up failed");
        match remedy {
            // Without a bound the place of the preparation may be of better use to another partition; it is tried again.
            Remedy::Retry { .. } if spoils || rules.policy.attempts.is_none() => {}
            Remedy::Retry { after } => {
                watch.count(CountedRecord::Retry);
                sleep(after.unwrap_or_default()).await;
                return AfterFailure::Again;
            }
            Remedy::Skip | Remedy::DeadLetter if spoils => _ = watch.pass_over(at, offset),
            Remedy::Skip | Remedy::DeadLetter => {
                watch.count(CountedRecord::Skip);
                return AfterFailure::PassOver;
            }
            Remedy::Stop => watch.stops.note(StoppedPartition {
                partition: at.clone(),
                epoch: Epoch::default(),
                offset,
                reason: error.text(),
                is_of_drain: false,
            }),
            Remedy::Fatal => watch.set_fatal(error.text()),
        }
        AfterFailure::End(Interrupted::of::<H::State>(error))
    }
}

/// The next step after a `catch_up` that failed.
enum AfterFailure {
    Again,
    PassOver,
    End(Interrupted),
}

/// A slice of the thread's time.
#[derive(Default)]
pub(super) struct Slice {
    records: u32,
    begun: Option<Instant>,
}

impl Slice {
    /// Gives other tasks their turn once the slice is over. Called after each record.
    pub(super) async fn yield_when_over(&mut self) {
        self.records = self.records.wrapping_add(1);
        if !self.records.is_multiple_of(RECORDS_A_LOOK) {
            return;
        }
        let now = Instant::now();
        if now.duration_since(*self.begun.get_or_insert(now)) >= SLICE {
            tokio::task::yield_now().await;
            self.begun = None;
        }
    }
}
