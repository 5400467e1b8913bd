//! The task that processes one owned partition.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use kafka_assigner_types::id::Offset;
use rdkafka::message::Message as _;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::client::Client;
use super::commits::Commits;
use super::cursor::{Ahead, LogReset, offset_of};
use super::error::KafkaRunnerError;
use super::handler::RecordHandler;
use super::reader::PartitionReader;
use super::record::Record;
use crate::context::OwnedContext;
use crate::handler::HandlerError;

/// The most records of a partition that are handled before another partition gets its turn.
const BATCH: usize = 64;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// The wait for a record that may be on its way to a quiet partition: as long as a fetch may wait.
const QUIET_WAIT: Duration = Duration::from_millis(20);
/// The same where records come all the time. It ends with the next one, so its length costs nothing; only a producer
/// that stops just then makes a switch last that long.
const IN_USE_WAIT: Duration = Duration::from_millis(500);
/// The wait for a record that is in the log. A slow fetch takes less; what the log counts but never delivers,
/// such as the markers of transactions, must not hold a switch up for longer.
pub(super) const FETCH_WAIT: Duration = Duration::from_secs(1);

/// A partition with its state.
pub(super) struct Partition<S> {
    pub(super) reader: PartitionReader,
    pub(super) state: S,
}

/// The time since which the current record is being handled.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy(Arc<Mutex<Option<Instant>>>);

impl Busy {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Keeps the time of the first attempt: a record that fails again and again is in the works all the time.
    fn begin(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    pub(super) fn is_longer_than(&self, bound: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|since| since.elapsed() > bound)
    }
}

pub(super) struct Processing<H: RecordHandler> {
    pub(super) handler: Arc<H>,
    pub(super) context: OwnedContext,
    /// Records before this offset were processed by another owner.
    pub(super) start: Offset,
    pub(super) permits: Arc<Semaphore>,
    pub(super) client: Client,
    pub(super) commits: Commits,
    pub(super) busy: Busy,
    pub(super) stop: CancellationToken,
    /// Told when processing runs.
    pub(super) live: Option<oneshot::Sender<()>>,
    /// The number of failures of the record that is ahead.
    pub(super) failures: u32,
    /// True if a record was handled after the word to stop.
    pub(super) overlapped: bool,
}

/// The claim has ended, the log was reset, or the task was told to stop.
struct ProcessingEnded;

impl<H: RecordHandler> Processing<H> {
    /// Processes until it is told to stop, the claim has ended, or the log was reset.
    pub(super) async fn run(mut self, mut partition: Partition<H::State>) -> Partition<H::State> {
        while self.wait(&mut partition.reader).await.is_ok() {
            self.batch(&mut partition).await;
        }
        self.overlap(&mut partition).await;
        self.busy.set(None);
        partition
    }

    /// Handles one record after the word to stop, if one comes.
    ///
    /// The new owner has handled a record before that word was given. Its fetch may have been ahead of this one's, so
    /// stopping at once would leave up to a record's distance between the last record here and the first one there.
    async fn overlap(&mut self, partition: &mut Partition<H::State>) {
        let claim = self.context.claim();
        // In the stricter modes the new owner waits for this one.
        if self.overlapped || claim.is_strict() || !claim.is_valid() {
            return;
        }
        match self.next_comes(&mut partition.reader).await {
            Ok(true) if self.context.claim().is_valid() => {
                self.one(partition).await;
            }
            Ok(_) => {}
            Err(error) => debug!(partition = %self.context.partition(), %error, "stopped without overlap"),
        }
    }

    /// Waits until there is a record and the right to handle it.
    async fn wait(&mut self, reader: &mut PartitionReader) -> Result<(), ProcessingEnded> {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            // Nothing more is begun.
            () = stop.cancelled() => Err(ProcessingEnded),
            // The usual case.
            ready = self.record_and_claim(reader) => ready,
        }
    }

    async fn record_and_claim(&mut self, reader: &mut PartitionReader) -> Result<(), ProcessingEnded> {
        if self.failures > 0 {
            sleep(FIRST_RETRY.saturating_mul(1 << self.failures.min(8)).min(LONGEST_RETRY)).await;
        }
        let come = self.next_record(reader).await;
        come.map_err(|reset| self.spoil(reset))?;
        self.context.claim().valid().await.map_err(|_| ProcessingEnded)?;
        self.context.records.opened().await;
        Ok(())
    }

    async fn next_record(&mut self, reader: &mut PartitionReader) -> Result<(), LogReset> {
        if self.live.is_some() && reader.ahead().await? == Ahead::End {
            self.idle_start(reader).await;
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
        let end = self.client.end(self.context.partition()).await?;
        Ok(end > reader.next() && timeout(FETCH_WAIT, reader.record()).await.is_ok())
    }

    /// The partition must be prepared again: its state stands for records that are gone.
    fn spoil(&self, reset: LogReset) -> ProcessingEnded {
        error!(partition = %self.context.partition(), error = %reset, "preparing the partition again");
        self.context.spoil();
        ProcessingEnded
    }

    fn is_live(&mut self) {
        if let Some(live) = self.live.take() {
            // The start may have been cancelled; then nobody waits.
            let _ = live.send(());
        }
    }

    async fn batch(&mut self, partition: &mut Partition<H::State>) {
        let (permits, stop) = (self.permits.clone(), self.stop.clone());
        let _permit = tokio::select! {
            biased;
            // Nothing more is begun, so there is nothing to wait for.
            () = stop.cancelled() => return,
            // Its turn.
            permit = permits.acquire() => permit.expect("never closed"),
        };
        for _ in 0..BATCH {
            let may_go_on = !self.stop.is_cancelled() && self.context.claim().is_valid();
            if !may_go_on || !self.one(partition).await {
                break;
            }
        }
        // Handlers that never wait must not keep the thread for themselves.
        tokio::task::yield_now().await;
    }

    /// Handles the record that is ahead; false = there is none, it may not be begun now, or it failed.
    async fn one(&mut self, partition: &mut Partition<H::State>) -> bool {
        if !matches!(partition.reader.ahead_now(), Ok(Some(Ahead::Record(_)))) {
            return false;
        }
        // Dropped when the record has ended, or failed.
        let Some(_in_works) = self.context.records.begin() else { return false };
        let Some(record) = partition.reader.take() else { return false };
        self.busy.begin();
        match self.handle(&mut partition.state, &record).await {
            Ok(()) => {
                self.busy.set(None);
                self.failures = 0;
                self.overlapped = self.stop.is_cancelled();
                true
            }
            Err(error) => {
                warn!(partition = %self.context.partition(), offset = record.offset(), error, "record failed");
                self.failures = self.failures.saturating_add(1);
                partition.reader.put_back(record);
                false
            }
        }
    }

    async fn handle(&mut self, state: &mut H::State, record: &Record) -> Result<(), String> {
        let offset = offset_of(record);
        if offset < self.start {
            let catch_up =
                AssertUnwindSafe(|| self.handler.catch_up(self.context.partition(), state, record));
            return text(std::panic::catch_unwind(catch_up));
        }
        let process = AssertUnwindSafe(self.handler.process(&self.context, state, record));
        text(process.catch_unwind().await)?;
        self.context.handled(offset);
        self.commits.processed(self.context.partition(), offset.next());
        self.is_live();
        Ok(())
    }
}

/// Turns errors and panics of a handler into text.
fn text(handled: std::thread::Result<Result<(), HandlerError>>) -> Result<(), String> {
    match handled {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the handler panicked".to_owned()),
    }
}
