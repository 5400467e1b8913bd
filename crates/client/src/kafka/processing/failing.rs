//! Records that were not handled: tried again, passed over, or stood before.

use kafka_assigner_handler::{Record, RecordError, RecordHandler, Remedy, guarded};
use kafka_assigner_types::id::{Epoch, Offset};
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::{FIRST_RETRY, Processing};
use crate::kafka::dead_letters::Letter;
use crate::kafka::partition::Partition;
use crate::kafka::runner_parts::can_spoil;
use crate::kafka::runner_watch::CountedRecord;
use crate::status::{FailingPartition, StoppedPartition};
use kafka_assigner_session::causes::with_causes;

/// The record before which a partition stands, or stood, as its task knows it.
#[derive(Debug, Default)]
pub(super) struct Standstill {
    /// The epoch under which it stands; `None` = it does not.
    pub(super) under: Option<Epoch>,
    /// True once it is known that the partition did not stand before its first record.
    is_tried: bool,
    /// True while the record before which it stood is tried again.
    tries_again: bool,
    /// True if it stands since its handler could not end its work, so that there need be no record.
    is_of_drain: bool,
}

impl Standstill {
    /// As after a record that is tried: one that fails is a standstill of its own.
    pub(super) const fn tried() -> Self {
        Self { under: None, is_tried: true, tries_again: false, is_of_drain: false }
    }

    /// The partition stands under `epoch`, before whatever comes.
    const fn after_drain(epoch: Epoch) -> Self {
        Self { under: Some(epoch), is_tried: true, tries_again: false, is_of_drain: true }
    }

    pub(super) const fn is_now(&self) -> bool {
        self.under.is_some()
    }
}

impl<H: RecordHandler> Processing<H> {
    /// The partition was granted again while it stands: the record comes once more, and at once. Where there is none to try,
    /// nothing but this grant says that it goes on.
    pub(super) fn try_again(&mut self) {
        let (at, of_drain) = (self.context.partition(), self.standing.is_of_drain);
        info!(partition = %at, epoch = %self.context.epoch(), "it is tried again");
        if of_drain {
            self.parts.watch.stops.end_after_drain(at);
            self.owned.wake_driver();
        }
        let tries_again = self.parts.watch.stops.stands_before_record(at);
        self.standing = Standstill { tries_again, ..Standstill::tried() };
        self.retry_at = None;
    }

    /// No record is begun under a grant under which the handler could not end its work, also with a state that was built since.
    pub(super) fn stand_after_drain(&mut self) {
        let epoch = self.owned.epoch();
        if self.parts.watch.stops.stands_after_drain(self.context.partition(), epoch) {
            self.standing = Standstill::after_drain(epoch);
            // It has begun, as far as it can.
            self.is_live();
        }
    }

    /// True if it stands under the grant that there is, and not before a record.
    pub(super) fn stands_without_record(&self) -> bool {
        self.standing.is_of_drain && self.standing.under == Some(self.owned.epoch())
    }

    /// The same if it was granted again.
    pub(super) fn try_again_when_granted(&mut self) {
        if self.standing.under.is_some_and(|epoch| self.owned.epoch() > epoch) {
            self.try_again();
        }
    }

    /// A record was handled, so that the partition does not stand any more.
    pub(super) fn went_on(&mut self) {
        if std::mem::take(&mut self.standing.tries_again) {
            self.parts.watch.stops.end(self.context.partition());
            self.owned.wake_driver();
        }
    }

    /// True if the record at `offset` is passed over, as an operator has commanded.
    pub(super) fn is_skipped(&self, offset: Offset) -> bool {
        offset >= self.start && self.owned.skipped_offset() == Some(offset)
    }

    /// True if such a record may still come from `next` on.
    pub(super) fn skips_behind(&self, next: Offset) -> bool {
        self.owned.skipped_offset().is_some_and(|skipped| skipped >= next)
    }

    /// Passes `record` over.
    pub(super) async fn skip(&mut self, partition: &mut Partition<H::State>, record: &Record) -> bool {
        info!(partition = %self.context.partition(), offset = %record.offset(), "passed over by an operator's command");
        self.parts.watch.count(CountedRecord::Skip);
        self.pass_over(partition, record, false).await
    }

    /// Takes in that `record` failed. True = it was passed over, and the next one may come.
    pub(super) async fn failed(
        &mut self,
        partition: &mut Partition<H::State>,
        record: Record,
        error: RecordError,
    ) -> bool {
        // The remedy may take long, and is no part of the records before.
        self.tell_handled();
        let (at, offset) = (self.context.partition(), record.offset());
        let (remedy, attempts) = self.parts.watch.decide(at, offset, &error, &self.parts.rules.policy);
        warn!(partition = %at, %offset, attempts, ?remedy, error = error.text(), "record failed");
        let spoils = error.is_spoiled() && can_spoil::<H::State>();
        match remedy {
            Remedy::Retry { after } => {
                self.parts.watch.count(CountedRecord::Retry);
                self.retry_at = Some(Instant::now() + after.unwrap_or(FIRST_RETRY));
                self.fails(offset, error.text());
            }
            Remedy::Stop => self.stand(offset, error.text()),
            Remedy::Fatal => {
                self.parts.watch.set_fatal(error.text());
                self.stand(offset, error.text());
            }
            Remedy::DeadLetter if offset >= self.start && self.parts.rules.dead_letters.is_none() => {
                self.stand(offset, format!("there is no dead-letter topic for it: {}", error.text()));
            }
            Remedy::DeadLetter if offset >= self.start => {
                if self.bury(&record, &error, attempts).await {
                    return self.pass_over(partition, &record, spoils).await;
                }
            }
            Remedy::Skip | Remedy::DeadLetter => {
                self.parts.watch.count(CountedRecord::Skip);
                return self.pass_over(partition, &record, spoils).await;
            }
        }
        // A copy: it may wait for long, and what it is lent of is a whole answer of a broker.
        partition.put_back(record.clone());
        drop(record);
        if spoils {
            self.commit_and_spoil(&error.text()).await;
        }
        false
    }

    /// Writes the record to the dead-letter topic. False = it was not acknowledged, and the record comes again.
    async fn bury(&mut self, record: &Record, error: &RecordError, attempts: u32) -> bool {
        let Some(dead_letters) = &self.parts.rules.dead_letters else { return false };
        let letter = Letter { record, reason: &error.text(), attempts, epoch: self.context.epoch() };
        match dead_letters.write(&letter).await {
            Ok(()) => {
                self.parts.watch.count(CountedRecord::DeadLetter);
                true
            }
            Err(failed) => {
                let (at, offset) = (self.context.partition(), record.offset());
                error!(partition = %at, %offset, error = &failed as &dyn std::error::Error, "no dead letter was written");
                self.retry_at = Some(Instant::now() + self.parts.rules.policy.longest_retry);
                self.fails(offset, with_causes(&failed));
                false
            }
        }
    }

    /// The record at `offset` failed, and comes again: others are told once that has lasted for long.
    fn fails(&mut self, offset: Offset, reason: String) {
        let (partition, epoch) = (self.context.partition().clone(), self.context.epoch());
        let since_unix_ms = self.owned.claim().clock().unix_ms();
        let failing = FailingPartition { partition, epoch, offset, reason, since_unix_ms };
        self.failing = Some(offset);
        if let Some(failed_for) = self.parts.watch.failing.failed(Instant::now(), failing) {
            warn!(partition = %self.context.partition(), %offset, ?failed_for, "a record fails again and again; nothing behind it is handled");
            self.owned.wake_driver();
        }
    }

    /// The record that failed was handled, or is not tried again. Most have failed once: nobody was told of those.
    pub(super) fn fails_no_more(&mut self) {
        self.failing = None;
        if self.parts.watch.failing.end(Instant::now(), self.context.partition()) {
            self.owned.wake_driver();
        }
    }

    /// Goes on behind a record that was not handled. The state gets of it what every rebuild will: what `catch_up` makes of
    /// it, and nothing where that fails.
    pub(super) async fn pass_over(
        &mut self,
        partition: &mut Partition<H::State>,
        record: &Record,
        mut spoils: bool,
    ) -> bool {
        let (at, offset) = (self.context.partition().clone(), record.offset());
        if offset < self.start {
            if spoils {
                self.parts.watch.pass_over(&at, offset);
            }
        } else if !spoils && !partition.failures.passes_over(offset) {
            let caught_up = self.parts.handler.catch_up(&at, &mut partition.state, record);
            if let Err(error) = guarded(caught_up).await {
                warn!(partition = %at, %offset, error = error.text(), "the state goes on without the record");
                spoils = error.is_spoiled() && can_spoil::<H::State>();
                if spoils {
                    self.parts.watch.pass_over(&at, offset);
                }
            }
        }
        partition.settle();
        if let Some(confirmed) = partition.confirmed.as_ref().filter(|_| offset >= self.start) {
            confirmed.pass_over(self.position.get(), offset.next());
        }
        self.done(offset);
        if spoils {
            self.parts.watch.give_up(&at, offset);
            self.commit_and_spoil("a record that was passed over may have changed it").await;
        }
        !spoils
    }

    /// Has the state built again. What was processed before is committed first, so that it is not processed again; where
    /// that fails it is.
    pub(super) async fn commit_and_spoil(&self, reason: &str) {
        let at = self.context.partition();
        if let Err(error) = self.parts.commits.commit(&self.parts.client, Some(at)).await {
            warn!(partition = %at, error = &error as &dyn std::error::Error, "records will come again");
        }
        self.spoil(reason);
    }

    /// The partition stands before the record at `offset`, until it is given up.
    pub(super) fn stand(&mut self, offset: Offset, reason: String) {
        let (partition, epoch) = (self.context.partition().clone(), self.context.epoch());
        error!(%partition, %offset, reason, "the partition stands");
        self.parts.watch.stops.note(StoppedPartition {
            partition,
            epoch,
            offset,
            reason,
            is_of_drain: false,
        });
        self.standing = Standstill { under: Some(epoch), ..Standstill::tried() };
        self.fails_no_more();
        // It has begun, as far as it can: no other owner gets further.
        self.is_live();
        self.owned.wake_driver();
    }

    /// True if the partition stood before the record at `offset` under this grant, which is the first one: it stands again.
    pub(super) fn stood(&mut self, offset: Offset) -> bool {
        if self.standing.is_tried || offset < self.start {
            return false;
        }
        self.standing.is_tried = true;
        let reason = self.parts.watch.stops.reason(self.context.partition(), self.context.epoch(), offset);
        let stood = reason.is_some();
        reason.into_iter().for_each(|reason| self.stand(offset, reason));
        stood
    }
}
