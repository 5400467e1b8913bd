//! The task that processes one owned partition.

mod failing;
mod seeking;
mod turn;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_handler::{
    BatchEnd, PartitionContext, Record, RecordError, RecordHandler, Remedy, guarded,
};
use kafka_assigner_types::id::Offset;
use kafka_assigner_types::moment::Moment;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{Instrument as _, debug, error, info, warn};

use super::commits::ProcessedPosition;
use super::cursor::{Ahead, ReadFailure};
use super::error::KafkaRunnerError;
use super::held::PartitionPhase;
use super::partition::Partition;
use super::pauses::Pause;
use super::reader::PartitionReader;
use super::runner_parts::RunnerParts;
use super::seeks::SeekRequest;
use super::state_reads::StateRead;
use super::stop_word::StopWord;
use crate::context::OwnedContext;
use crate::record_gate::RecordPermit;
use failing::Standstill;

/// The wait before the end of a log is asked for again that could not be read.
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// The wait for a record that may be on its way to a quiet partition: as long as a fetch may wait.
const QUIET_WAIT: Duration = Duration::from_millis(20);
/// The same where records come all the time. It ends with the next one, so its length costs nothing; only a producer
/// that stops just then makes a switch last that long.
const IN_USE_WAIT: Duration = Duration::from_millis(500);
/// The wait for a record that is in the log. A slow fetch takes less; what the log counts but never delivers,
/// such as the markers of transactions, must not hold a switch up for longer.
pub(super) const FETCH_WAIT: Duration = Duration::from_secs(1);
/// The same for the first record of a new owner beside the old one, which works on meanwhile: some failing fetches, of which
/// each may be answered only after `fetch.wait.max.ms`.
const FIRST_RECORD_PATIENCE: Duration = Duration::from_secs(5);

/// The time since which records are being handled without a pause; `None` = none is.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy(Arc<Mutex<Option<Instant>>>);

impl Busy {
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Keeps the time of the first record of a turn. One that fails is in the works while it is tried, and not while it waits:
    /// whoever tries it again is alive.
    fn begin(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    pub(super) fn is_longer_than(&self, bound: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|since| since.elapsed() > bound)
    }
}

/// The task of one partition under one grant.
pub(super) struct Processing<H: RecordHandler> {
    parts: RunnerParts<H>,
    owned: OwnedContext,
    /// The same, as the handler sees it.
    context: PartitionContext,
    /// Records before this offset were processed by another owner.
    start: Offset,
    position: ProcessedPosition,
    pause: Pause,
    busy: Busy,
    stop: StopWord,
    /// Told when processing runs.
    live: Option<oneshot::Sender<()>>,
    /// True once others were told of the first record that was handled.
    has_told_first: bool,
    /// The time before which the record that is ahead, and has failed, does not come again.
    retry_at: Option<Instant>,
    /// The records that were processed in this turn, until they are counted.
    uncounted: u64,
    /// The records that were processed since the last snapshot.
    since_snapshot: u64,
    /// So many records come one by one, since one of them failed as part of a batch.
    singles: usize,
    standing: Standstill,
    /// The record that failed last and has not been handled since, for others to see; `None` = there is none.
    failing: Option<Offset>,
    /// The right to the records of this turn; `None` = none is in the works.
    in_works: Option<RecordPermit>,
    /// The last record that was handled in this turn, until the service is told of it.
    handled: Option<Offset>,
    /// True if a record was handled after the word to stop.
    overlapped: bool,
}

/// The next thing to do.
enum ProcessingTurn<S> {
    Records,
    Read(StateRead<S>),
    Seek(SeekRequest),
    /// The claim has ended, the log was reset, or the task was told to stop.
    End,
}

/// The requests from outside while a partition is processed.
struct OutsideAsks<S> {
    reads: mpsc::Receiver<StateRead<S>>,
    seeks: mpsc::Receiver<SeekRequest>,
}

/// As [`ProcessingTurn::End`].
struct ProcessingEnded;

impl<H: RecordHandler> Processing<H> {
    pub(super) fn new(
        parts: RunnerParts<H>,
        (owned, context): (OwnedContext, PartitionContext),
        start: Offset,
        (busy, stop): (Busy, StopWord),
        live: oneshot::Sender<()>,
    ) -> Self {
        Self {
            context,
            position: parts.commits.position(owned.partition()),
            pause: parts.watch.pauses.of(owned.partition()),
            parts,
            owned,
            start,
            busy,
            stop,
            live: Some(live),
            has_told_first: false,
            retry_at: None,
            uncounted: 0,
            since_snapshot: 0,
            singles: 0,
            standing: Standstill::default(),
            failing: None,
            in_works: None,
            handled: None,
            overlapped: false,
        }
    }

    /// Processes until it is told to stop, the claim has ended, or the log was reset.
    pub(super) async fn run(mut self, mut partition: Partition<H::State>) -> Partition<H::State> {
        self.parts.watch.stops.end_of_other_grant(self.owned.partition(), self.owned.epoch());
        self.failing = self.parts.watch.failing.begin(self.owned.partition(), self.owned.epoch());
        let mut asked = self.listen();
        if partition.failures.has_any() {
            self.singles = H::BATCH;
        }
        self.stand_after_drain();
        loop {
            match self.turn(&mut partition.reader, &mut asked).await {
                ProcessingTurn::Records => {}
                ProcessingTurn::Read(read) if self.context.may_act() => {
                    read(&partition.state, self.context.epoch());
                }
                // Whoever asked is told, since nobody answers.
                ProcessingTurn::Read(_) => continue,
                ProcessingTurn::Seek(request) => match self.seek(&mut partition, request).await {
                    Ok(()) => continue,
                    Err(ProcessingEnded) => break,
                },
                ProcessingTurn::End => break,
            }
            // Also after a read: many of them must not hold the records up.
            self.try_again_when_granted();
            self.batch(&mut partition).await;
        }
        self.overlap(&mut partition).await;
        partition
    }

    /// Takes what is asked from outside.
    fn listen(&self) -> OutsideAsks<H::State> {
        let (at, watch) = (self.owned.partition(), &self.parts.watch);
        watch.held.enter(at, PartitionPhase::Owned);
        OutsideAsks { reads: watch.readers.open(at, self.owned.claim().clone()), seeks: watch.seeks.open(at) }
    }

    /// Handles one record after the word to stop, if one comes.
    ///
    /// The new owner has handled a record before that word was given. Its fetch may have been ahead of this one's, so
    /// stopping at once would leave up to a record's distance between the last record here and the first one there.
    async fn overlap(&mut self, partition: &mut Partition<H::State>) {
        let claim = self.owned.claim();
        // In the stricter modes the new owner waits for this one.
        if self.overlapped || self.waits() || claim.is_strict() || !claim.is_valid() {
            return;
        }
        match self.next_comes(&mut partition.reader).await {
            Ok(true) if self.context.may_act() => {
                self.one(partition, self.owned.claim().clock().now()).await;
                self.end_turn();
            }
            Ok(_) => {}
            Err(error) => debug!(partition = %self.context.partition(), %error, "stopped without overlap"),
        }
    }

    /// Waits for what is to be done next.
    async fn turn(
        &mut self,
        reader: &mut PartitionReader,
        asked: &mut OutsideAsks<H::State>,
    ) -> ProcessingTurn<H::State> {
        if self.is_paused() {
            // It has begun, as far as it is to.
            self.is_live();
        }
        let (stop, has_begun) = (self.stop.clone(), self.live.is_none());
        tokio::select! {
            biased;
            // Nothing more is begun.
            () = stop.given() => ProcessingTurn::End,
            // Quick; records follow in the same turn.
            Some(read) = asked.reads.recv(), if has_begun => ProcessingTurn::Read(read),
            // The records that are ahead may be none of those that come next.
            Some(request) = asked.seeks.recv(), if has_begun => ProcessingTurn::Seek(request),
            // The usual case.
            ready = self.record_and_claim(reader) => {
                ready.map_or(ProcessingTurn::End, |()| ProcessingTurn::Records)
            }
        }
    }

    /// Waits until there is a record and the right to handle it.
    async fn record_and_claim(&mut self, reader: &mut PartitionReader) -> Result<(), ProcessingEnded> {
        if self.waits() {
            // For as long as somebody outside likes.
            reader.keep();
        }
        if let Some(epoch) = self.standing.under {
            self.owned.claim().above(epoch).await.map_err(|_| ProcessingEnded)?;
            self.try_again();
        }
        if let Some(at) = self.retry_at {
            sleep_until(at).await;
        }
        self.pause.over(self.owned.claim()).await.map_err(|_| ProcessingEnded)?;
        match self.next_record(reader).await {
            Ok(()) => {}
            // Another preparation would read the same, and nobody can tell what is behind it.
            Err(damaged @ ReadFailure::Damaged(_)) => {
                self.stand(reader.next(), damaged.to_string());
                return Ok(());
            }
            // Processed records are committed first, or they would be told as gone with those that are: the next start is there.
            Err(removed @ ReadFailure::OutOfRange) => {
                self.commit_and_spoil(&removed.to_string()).await;
                return Err(ProcessingEnded);
            }
            Err(failure) => return Err(self.spoil(&failure.to_string())),
        }
        self.owned.claim().valid().await.map_err(|_| ProcessingEnded)?;
        self.owned.records.opened().await;
        Ok(())
    }

    /// Waits for a record, or for the end of the log where it is not known yet that processing runs.
    async fn next_record(&mut self, reader: &mut PartitionReader) -> Result<(), ReadFailure> {
        if self.live.is_some() && reader.ahead().await? == Ahead::End {
            self.idle_start(reader).await;
            // Whoever reads the state, or goes elsewhere, is heard from now on, also where no record comes for long.
            return Ok(());
        }
        reader.record().await
    }

    /// At the end of a partition, says that processing runs once nothing that was written up to now is unread. Until
    /// then, and while the broker doesn't answer, the old owner works on.
    async fn idle_start(&mut self, reader: &mut PartitionReader) {
        loop {
            match self.next_comes(reader).await {
                Ok(true) => return,
                Ok(false) => return self.is_live(),
                Err(error) => warn!(partition = %self.context.partition(), %error, "not processing yet"),
            }
            sleep(FIRST_RETRY).await;
        }
    }

    /// Waits for the next record as long as there is reason to expect one soon; false = there is none.
    ///
    /// # Errors
    ///
    /// The end of the log can't be read.
    async fn next_comes(&self, reader: &mut PartitionReader) -> Result<bool, KafkaRunnerError> {
        let wait = if reader.is_in_use() { IN_USE_WAIT } else { QUIET_WAIT };
        if timeout(wait, reader.record()).await.is_ok() {
            return Ok(true);
        }
        let end = self.parts.client.end(self.context.partition()).await?;
        Ok(end > reader.next() && timeout(FIRST_RECORD_PATIENCE, reader.record()).await.is_ok())
    }

    /// The partition must be prepared again: its state is of no use.
    fn spoil(&self, reason: &str) -> ProcessingEnded {
        let at = self.context.partition();
        error!(partition = %at, reason, "preparing the partition again");
        self.parts.watch.failing.rebuild(at);
        self.owned.spoil();
        ProcessingEnded
    }

    fn is_live(&mut self) {
        if let Some(live) = self.live.take() {
            // The start may have been cancelled; then nobody waits.
            let _ = live.send(());
        }
    }

    fn take_snapshot_when_due(&mut self, partition: &Partition<H::State>) {
        let Some(snapshots) = &self.parts.rules.snapshots else { return };
        if self.since_snapshot < snapshots.every.get() || partition.is_cut || !self.context.may_act() {
            return;
        }
        let at = (self.context.partition(), self.context.topic_id());
        match snapshots.take(&*self.parts.handler, at, &partition.state, partition.reader.next()) {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => self.no_snapshot(&error),
        }
        self.since_snapshot = 0;
    }

    /// The snapshot before stays, and records go on: only a process that is of no use is more than that.
    fn no_snapshot(&self, error: &RecordError) {
        warn!(partition = %self.context.partition(), error = error.text(), "no snapshot was taken");
        if error.remedy() == Some(Remedy::Fatal) {
            self.parts.watch.set_fatal(error.text());
            self.owned.wake_driver();
        }
    }

    /// Handles what is ahead: a record, or a batch where the handler takes some.
    async fn next(&mut self, partition: &mut Partition<H::State>, now: Moment) -> bool {
        let next = partition.reader.next();
        let is_single = || self.skips_behind(next) || partition.failures.gave_up_behind(next);
        if H::BATCH <= 1 || self.singles > 0 || next < self.start || is_single() {
            self.singles = self.singles.saturating_sub(1);
            return self.one(partition, now).await;
        }
        self.many(partition, now).await
    }

    /// Handles the record that is ahead; false = there is none, it may not be begun now, or it failed.
    async fn one(&mut self, partition: &mut Partition<H::State>, now: Moment) -> bool {
        let Ok(Some(Ahead::Record(offset))) = partition.reader.ahead_now() else { return false };
        if self.stood(offset) || !self.begin_record(now) {
            return false;
        }
        let Some(record) = partition.take() else { return false };
        if self.is_skipped(offset) {
            return self.skip(partition, &record).await;
        }
        if offset >= self.start && partition.failures.gave_up(offset) {
            info!(partition = %self.context.partition(), %offset, "passed over again, as before the state was built anew");
            return self.pass_over(partition, &record, false).await;
        }
        match self.handle(partition, &record).await {
            Ok(()) => {
                partition.settle();
                self.done(offset);
                true
            }
            Err(error) => self.failed(partition, record, error).await,
        }
    }

    async fn handle(&self, partition: &mut Partition<H::State>, record: &Record) -> Result<(), RecordError> {
        let handler = &self.parts.handler;
        if record.offset() >= self.start {
            let processed = guarded(handler.process(&self.context, &mut partition.state, record));
            return match &self.parts.rules.spans {
                Some(spans) => processed.instrument(spans.span(&self.context, record)).await,
                None => processed.await,
            };
        }
        if partition.failures.passes_over(record.offset()) {
            return Ok(());
        }
        guarded(handler.catch_up(self.context.partition(), &mut partition.state, record)).await
    }

    /// Handles the records that are there, up to the handler's number.
    async fn many(&mut self, partition: &mut Partition<H::State>, now: Moment) -> bool {
        let Ok(Some(Ahead::Record(offset))) = partition.reader.ahead_now() else { return false };
        if self.stood(offset) || !self.begin_record(now) {
            return false;
        }
        let mut records = Vec::with_capacity(H::BATCH);
        while records.len() < H::BATCH && matches!(partition.reader.ahead_now(), Ok(Some(Ahead::Record(_)))) {
            partition.take_some(H::BATCH - records.len(), &mut records);
        }
        let handler = &self.parts.handler;
        let handled =
            guarded(async { Ok(handler.process_batch(&self.context, &mut partition.state, &records).await) });
        let handled = match &self.parts.rules.spans {
            Some(spans) => handled.instrument(spans.span(&self.context, &records[0])).await,
            None => handled.await,
        };
        let end = handled.unwrap_or_else(|error| {
            self.singles = records.len();
            BatchEnd { handled: 0, error: Some(error) }
        });
        self.batch_ended(partition, records, end).await
    }

    async fn batch_ended(
        &mut self,
        partition: &mut Partition<H::State>,
        mut records: Vec<Record>,
        end: BatchEnd,
    ) -> bool {
        let rest = records.split_off(end.handled.min(records.len()));
        let mut rest = rest.into_iter();
        let failed = end.error.and_then(|error| Some((rest.next()?, error)));
        rest.rev().for_each(|record| partition.put_back(record));
        partition.settle();
        for record in records.first().into_iter().chain(records.last().filter(|_| records.len() > 1)) {
            self.done(record.offset());
        }
        // The first and the last one are counted.
        let between = records.len().saturating_sub(2) as u64;
        self.since_snapshot += between;
        self.uncounted += between;
        match failed {
            Some((record, error)) => self.failed(partition, record, error).await,
            None => !records.is_empty(),
        }
    }

    /// The record at `offset` was handled.
    fn done(&mut self, offset: Offset) {
        self.retry_at = None;
        if self.failing.is_some_and(|failed| failed <= offset) {
            self.fails_no_more();
        }
        self.overlapped = self.stop.is_given();
        if offset >= self.start {
            // Others are told of the first one before they hear that processing runs, and of the last one of each turn.
            self.handled = Some(offset);
            if !std::mem::replace(&mut self.has_told_first, true) {
                self.tell_handled();
            }
            self.position.advance(offset.next());
            self.since_snapshot += 1;
            self.uncounted += 1;
            self.is_live();
            self.went_on();
        }
    }
}
