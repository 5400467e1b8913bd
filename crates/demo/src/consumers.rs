//! The consumers of a run: each a process of its own with a real state for each partition, which it rebuilds from
//! the topic when it takes the partition over.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kafka_assigner_audit::{FinalState, Handled, KeyState, Micros};
use kafka_assigner_client::kafka::{
    Closing, KafkaOptions, KafkaRunner, KafkaRunnerError, OpenedState, PartitionContext, Preparation, Record,
    RecordError, RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Consumer, ConsumerOptions, Epoch, Offset, OwnedContext, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::micros;
use kafka_assigner_writer::{Log, LogError, Witness, Writer, run_writer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::kafka::Kafka;
use crate::options::Options;
use crate::process::Process;
use crate::producer::id_of;
use crate::warm_up::{self, SlowWarmUp};

/// The group of the demonstration.
pub(crate) const GROUP: &str = "demo";

/// The time that a leaving consumer has to release its partitions. At the end of a run no other consumer takes over.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The log of one consumer process; it outlives the process.
#[derive(Debug)]
pub(crate) struct Book {
    /// The process; a consumer that starts again is another.
    pub(crate) process: String,
    handled: Mutex<Vec<Handled>>,
    shelf: Mutex<BTreeMap<TopicPartition, SharedState>>,
}

/// The state of a partition, which the book can look into.
type SharedState = Arc<Mutex<PartitionState>>;

/// The state of one partition in a consumer.
#[derive(Debug, Default)]
struct PartitionState {
    /// The epoch under which it is owned; zero while it is only warmed.
    epoch: Epoch,
    keys: BTreeMap<String, KeyState>,
}

impl PartitionState {
    fn fold(&mut self, record: &Record) {
        let key = record.key().and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default();
        if let Some(id) = record.value().and_then(id_of) {
            self.keys.entry(key.to_owned()).or_default().fold(id);
        }
    }
}

impl Book {
    fn new(process: String) -> Arc<Self> {
        Arc::new(Self { process, handled: Mutex::default(), shelf: Mutex::default() })
    }

    fn note(&self, partition: &TopicPartition, epoch: Epoch, offset: Offset, id: u64) {
        let (slot, process, at) = (partition.clone(), self.process.clone(), now_micros());
        lock(&self.handled).push(Handled { slot, offset, id, epoch, process, at });
    }

    /// The number of records that the process handled so far.
    pub(crate) fn count(&self) -> usize {
        lock(&self.handled).len()
    }

    /// The records that the process handled so far, in its order.
    pub(crate) fn handled(&self) -> Vec<Handled> {
        lock(&self.handled).clone()
    }

    /// The ids that the process handled since the first `seen` records.
    pub(crate) fn ids_since(&self, seen: usize) -> Vec<u64> {
        lock(&self.handled).iter().skip(seen).map(|handled| handled.id).collect()
    }

    /// The states of the partitions that it owns.
    pub(crate) fn states(&self) -> Vec<FinalState> {
        let state = |(slot, shared): (&TopicPartition, &SharedState)| {
            let held = lock(shared);
            (held.epoch > Epoch::default()).then(|| FinalState {
                slot: slot.clone(),
                epoch: held.epoch,
                process: self.process.clone(),
                keys: held.keys.clone(),
            })
        };
        lock(&self.shelf).iter().filter_map(state).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now_micros() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    micros(since)
}

/// Counts records by key, and writes down each that it handles.
struct CountingHandler(Arc<Book>);

impl RecordHandler for CountingHandler {
    type State = SharedState;

    async fn open(
        &self,
        preparation: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<SharedState>, RecordError> {
        warm_up::load(&preparation.partition, preparation.current_owner.as_deref()).await;
        let state = SharedState::default();
        lock(&self.0.shelf).insert(preparation.partition.clone(), Arc::clone(&state));
        Ok(OpenedState::empty(state))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut SharedState,
        record: &Record,
    ) -> Result<(), RecordError> {
        lock(state).fold(record);
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, state: &mut SharedState) -> Result<(), RecordError> {
        lock(state).epoch = context.epoch();
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        state: &mut SharedState,
        record: &Record,
    ) -> Result<(), RecordError> {
        let epoch = context.epoch();
        let mut held = lock(state);
        held.epoch = epoch;
        held.fold(record);
        let id = record.value().and_then(id_of).unwrap_or(u64::MAX);
        self.0.note(context.partition(), epoch, record.offset(), id);
        Ok(())
    }

    async fn close(&self, partition: &TopicPartition, _: Closing, _: Option<SharedState>) {
        lock(&self.0.shelf).remove(partition);
    }
}

impl Witness for Book {
    fn executed(&self, context: &OwnedContext, epoch: Epoch, offset: Offset, id: u64) -> io::Result<()> {
        self.note(context.partition(), epoch, offset, id);
        Ok(())
    }
}

/// Handles records.
async fn count(
    options: ConsumerOptions,
    brokers: String,
    book: Arc<Book>,
    shutdown: CancellationToken,
) -> Result<(), ConsumerFailure> {
    let kafka = KafkaOptions::new(brokers, options.topics.concat());
    let runner = KafkaRunner::new(&kafka, CountingHandler(book))?;
    Consumer::new(options)?.run(runner, shutdown).await?;
    Ok(())
}

/// Takes requests.
async fn write(
    options: ConsumerOptions,
    brokers: String,
    book: Arc<Book>,
    shutdown: CancellationToken,
) -> Result<(), ConsumerFailure> {
    let connecting = Log::connect(&brokers, &options.topics[0]);
    let Some(log) = shutdown.run_until_cancelled(connecting).await.transpose()? else { return Ok(()) };
    let writer = Writer::new(log, Some(book));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = listener.local_addr()?.to_string();
    let (consumer, reception) = (Consumer::new(ConsumerOptions { endpoint, ..options })?, writer.reception());
    run_writer(consumer, SlowWarmUp(writer), reception, listener, shutdown)
        .await
        .map_err(ConsumerFailure::Program)
}

/// A running consumer.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) book: Arc<Book>,
    process: Process,
    ended: JoinHandle<Result<(), ConsumerFailure>>,
}

/// The reasons for which a consumer did not start, or ended unexpectedly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsumerFailure {
    #[error("no runtime or no socket for a consumer")]
    Io(#[from] io::Error),
    #[error("wrong options for a consumer")]
    Options(#[from] kafka_assigner_client::OptionsError),
    #[error("no Kafka client for a consumer")]
    Kafka(#[from] KafkaRunnerError),
    #[error("no log for a writer")]
    Log(#[from] LogError),
    #[error("wrong options for a router")]
    Router(#[from] kafka_assigner_router::RouterOptionsError),
    #[error("a writer, a router, or who asked them failed")]
    Program(#[source] anyhow::Error),
    #[error("a consumer ended")]
    Ended(#[from] kafka_assigner_client::ConsumerError),
}

impl Worker {
    /// Starts the `life`th process of the consumer `name`: in the mode routed a writer.
    pub(crate) fn start(
        name: &str,
        life: usize,
        endpoints: Vec<String>,
        kafka: &Kafka,
        mode: Mode,
    ) -> Result<Self, ConsumerFailure> {
        let (book, process) = (Book::new(format!("{name}#{life}")), Process::new(name)?);
        let options = ConsumerOptions {
            group: GROUP.into(),
            topics: vec![kafka.topic.clone()],
            session_timeout: Some(Options::session_timeout(mode)),
            drain_timeout: DRAIN_TIMEOUT,
            ..ConsumerOptions::new(name, endpoints)
        };
        let (brokers, kept) = (kafka.bootstrap.clone(), Arc::clone(&book));
        let ended = if mode == Mode::Routed {
            process.spawn(|shutdown| write(options, brokers, kept, shutdown))
        } else {
            process.spawn(|shutdown| count(options, brokers, kept, shutdown))
        };
        Ok(Self { name: name.to_owned(), book, process, ended })
    }

    /// Asks it to leave: it hands its partitions over first.
    pub(crate) fn ask_to_leave(&self) {
        self.process.ask_to_end();
    }

    /// Returns true if it has ended by itself.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_finished()
    }

    /// Waits until it has left, and says where it failed.
    pub(crate) async fn left(self) -> Result<(), ConsumerFailure> {
        // A panic of the consumer's task was already printed by the runtime.
        self.ended.await.unwrap_or(Ok(()))
    }

    /// Kills it.
    pub(crate) fn kill(self) -> Arc<Book> {
        self.process.kill();
        self.book
    }
}
