//! A consumer of the run: writes every record to the sink, and what it did and was allowed to do into its history.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use kafka_assigner_client::kafka::{
    Closing, KafkaOptions, KafkaRunner, OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record,
    RecordError, RecordHandler, StateSnapshot,
};
use kafka_assigner_client::{Consumer, ConsumerOptions, OwnedContext, TopicPartition, stop};
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::journal::Journal;

use crate::arguments::ConsumerSettings;
use crate::consumers::{DRAIN_TIMEOUT, GROUP, SESSION_TIMEOUT};
use crate::history::{Claimed, Entry};
use crate::listening::Listening;
use crate::load::{self, RETURNING, TOPIC};
use crate::sink::{Connection, Verdict, Write};

/// Runs until SIGTERM, and then until everything was handed over.
pub(crate) async fn run(settings: ConsumerSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let history = Arc::new(Journal::open(&settings.history)?);
    let handler = Writing { process: settings.process, sink: settings.sink, history: Arc::clone(&history) };
    let transport = Listening { transport: settings.place.transport(), history };
    let options = ConsumerOptions {
        group: GROUP.to_owned(),
        topics: vec![TOPIC.to_owned(), RETURNING.to_owned()],
        session_timeout: Some(SESSION_TIMEOUT),
        drain_timeout: DRAIN_TIMEOUT,
        ..ConsumerOptions::new(settings.place.name, settings.place.endpoints)
    };
    let runner = KafkaRunner::new(&KafkaOptions::new(settings.brokers, GROUP), handler)?;
    let consumer = Consumer::over(options, transport)?;
    consumer.run(runner, stop::on_signal()?).await?;
    Ok(())
}

/// Writes records to the sink.
#[derive(Debug)]
struct Writing {
    process: String,
    sink: SocketAddr,
    history: Arc<Journal>,
}

/// The claim as it is now.
pub(crate) fn look(context: &OwnedContext) -> Claimed {
    let at = Moment::now();
    Claimed {
        partition: place(context),
        epoch: context.epoch().0,
        at,
        until: at + context.claim().remaining(),
    }
}

/// The entry of a grant that has just begun.
pub(crate) fn granted(context: &OwnedContext) -> Entry {
    Entry::Granted { claimed: look(context), topic_id: context.topic_id().map(|id| id.to_string()) }
}

/// The number of the partition in histories.
pub(crate) fn place(context: &OwnedContext) -> i32 {
    number(context.partition())
}

fn number(at: &TopicPartition) -> i32 {
    load::number(at.topic.as_str(), at.kafka_number())
}

/// The reason why a record was not handled; it is tried again for as long as the partition is owned.
#[derive(Debug, thiserror::Error)]
enum NotHandled {
    /// The process was held up between the library's look at the claim and its own.
    #[error("the claim is not valid")]
    Lapsed,
    /// Somebody else has acted: whatever this process believes, the partition is not its own.
    #[error("the sink has seen epoch {seen}, and this is epoch {ours}")]
    Fenced { seen: u64, ours: u64 },
}

impl Writing {
    fn note_end(&self, at: &TopicPartition) -> std::io::Result<()> {
        self.history.write(&Entry::Ended { partition: number(at), at: Moment::now() })
    }
}

/// The grant, as the client library knows it.
fn owned(context: &PartitionContext) -> Result<&OwnedContext, NotHandled> {
    context.ownership().ok_or(NotHandled::Lapsed)
}

impl RecordHandler for Writing {
    type State = Connection;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Connection>, RecordError> {
        Ok(OpenedState::empty(Connection::default()))
    }

    /// The sink has the effects of what others handled.
    async fn catch_up(&self, _: &TopicPartition, _: &mut Connection, _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, _: &mut Connection) -> Result<(), RecordError> {
        let granted = granted(owned(context).unchanged()?);
        self.history.write(&granted).unchanged()
    }

    /// A connection that failed is opened again by the next write, so no error spoils it.
    async fn process(
        &self,
        context: &PartitionContext,
        connection: &mut Connection,
        record: &Record,
    ) -> Result<(), RecordError> {
        let (claimed, offset) = (look(owned(context).unchanged()?), record.offset().get());
        if claimed.until == claimed.at {
            return Err(RecordError::unchanged(NotHandled::Lapsed));
        }
        let (generation, epoch) = (load::generation(record.value()), claimed.epoch);
        let partition = load::sink_number(claimed.partition, generation);
        let write = Write { partition, epoch, offset, process: self.process.clone() };
        let verdict = connection.write(self.sink, &write).await.unchanged()?;
        self.history.write(&Entry::Wrote { claimed, generation, offset, verdict }).unchanged()?;
        match verdict {
            Verdict::Applied => Ok(()),
            Verdict::Refused { epoch: seen } => {
                Err(RecordError::unchanged(NotHandled::Fenced { seen, ours: epoch }))
            }
        }
    }

    /// Nothing is written any more, unless the partition comes back.
    async fn drained(&self, context: &PartitionContext, _: &mut Connection) -> Result<(), RecordError> {
        self.note_end(context.partition()).unchanged()
    }

    async fn close(&self, at: &TopicPartition, closing: Closing, _: Option<Connection>) {
        if closing == Closing::Lost {
            self.note_end(at).expect("the history's folder is there for as long as the run");
        }
    }
}
