//! The task that processes one owned partition.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use rdkafka::message::Message as _;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Record;
use super::commits::Commits;
use super::handler::RecordHandler;
use super::reader::{Ahead, Reader};
use crate::context::OwnedContext;
use crate::handler::HandlerError;

/// How many records of a partition are handled before another partition gets its turn.
const BATCH: usize = 64;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// How long a start waits for the first record of a partition that is at its end, so that the acknowledgement can
/// name it, and a stop for the last one. As long as a fetch may wait.
const EDGE_WAIT: Duration = Duration::from_millis(20);

/// A partition with its state.
pub(super) struct Partition<S> {
    pub(super) reader: Reader,
    pub(super) state: S,
}

/// Since when the record in the works has been there.
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
    pub(super) start: i64,
    pub(super) permits: Arc<Semaphore>,
    pub(super) commits: Commits,
    pub(super) busy: Busy,
    pub(super) stop: CancellationToken,
    /// Told when processing runs.
    pub(super) live: Option<oneshot::Sender<()>>,
    /// How often the record that is ahead has failed.
    pub(super) failures: u32,
    /// Whether a record was handled after the word to stop.
    pub(super) overlapped: bool,
}

/// The claim has ended, or the task was told to stop.
struct Stopped;

impl<H: RecordHandler> Processing<H> {
    /// Processes until it is told to stop, or the claim has ended.
    pub(super) async fn run(mut self, mut partition: Partition<H::State>) -> Partition<H::State> {
        while self.wait(&mut partition.reader).await.is_ok() {
            self.batch(&mut partition).await;
        }
        self.overlap(&mut partition).await;
        self.busy.set(None);
        partition
    }

    /// Handles one record after the word to stop, if one comes soon.
    ///
    /// The new owner has handled a record before that word was given. At the end of a partition its fetch may have
    /// been a moment ahead of this one's, so stopping at once would leave up to a record's distance between the
    /// last record here and the first one there.
    async fn overlap(&mut self, partition: &mut Partition<H::State>) {
        if self.overlapped || !self.context.claim().is_valid() {
            return;
        }
        if timeout(EDGE_WAIT, partition.reader.record()).await.is_ok() && self.context.claim().is_valid() {
            self.one(partition).await;
        }
    }

    /// Waits until there is a record and the right to handle it.
    async fn wait(&mut self, reader: &mut Reader) -> Result<(), Stopped> {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            // Nothing more is begun.
            () = stop.cancelled() => Err(Stopped),
            // The usual case.
            ready = self.record_and_claim(reader) => ready,
        }
    }

    async fn record_and_claim(&mut self, reader: &mut Reader) -> Result<(), Stopped> {
        if self.failures > 0 {
            sleep(FIRST_RETRY.saturating_mul(1 << self.failures.min(8)).min(LONGEST_RETRY)).await;
        }
        if self.live.is_some() && reader.ahead().await == Ahead::End {
            self.idle_start(reader).await;
        }
        reader.record().await;
        self.context.claim().valid().await.map_err(|_| Stopped)
    }

    /// Waiting longer for a first record would leave an idle partition unacknowledged.
    async fn idle_start(&mut self, reader: &mut Reader) {
        if timeout(EDGE_WAIT, reader.record()).await.is_err() {
            self.is_live();
        }
    }

    fn is_live(&mut self) {
        if let Some(live) = self.live.take() {
            // The start may have been cancelled; then nobody waits.
            let _ = live.send(());
        }
    }

    async fn batch(&mut self, partition: &mut Partition<H::State>) {
        let permits = self.permits.clone();
        let _permit = permits.acquire().await.expect("never closed");
        for _ in 0..BATCH {
            let may_go_on = !self.stop.is_cancelled() && self.context.claim().is_valid();
            if !may_go_on || !self.one(partition).await {
                break;
            }
        }
        // Handlers that never wait must not keep the thread for themselves.
        tokio::task::yield_now().await;
    }

    /// Handles the record that is ahead; false = there is none, or it failed.
    async fn one(&mut self, partition: &mut Partition<H::State>) -> bool {
        if !matches!(partition.reader.ahead_now(), Some(Ahead::Record(_))) {
            return false;
        }
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
        let offset = record.offset();
        if offset < self.start {
            let catch_up =
                AssertUnwindSafe(|| self.handler.catch_up(self.context.partition(), state, record));
            return text(std::panic::catch_unwind(catch_up));
        }
        let process = AssertUnwindSafe(self.handler.process(&self.context, state, record));
        text(process.catch_unwind().await)?;
        self.context.handled(offset);
        self.commits.processed(self.context.partition(), offset + 1);
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
