//! A consumer of the run in the mode routed: takes requests, and writes what it did and was allowed to do into its
//! history.

use std::io;
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use kafka_assigner_client::{
    Consumer, ConsumerOptions, Epoch, HandlerError, Offset, OwnedContext, PartitionHandler, ReservedContext,
    TopicPartition, WarmContext, stop,
};
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::journal::Journal;
use kafka_assigner_writer::{Log, Witness, Writer, run_writer};
use tokio::net::TcpListener;

use crate::arguments::WriterSettings;
use crate::consumer::{granted, look};
use crate::consumers::{DRAIN_TIMEOUT, GROUP, SESSION_TIMEOUT};
use crate::history::Entry;
use crate::listening::Listening;
use crate::load::TOPIC;
use crate::sink::Verdict;

/// Runs until SIGTERM, and then until everything was handed over.
pub(crate) async fn run(settings: WriterSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let journal = Arc::new(Journal::open(&settings.history)?);
    let history = Arc::new(History(Arc::clone(&journal)));
    let log = Log::connect(&settings.brokers, TOPIC).await?;
    let writer = Writer::new(log, Some(history.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let transport = Listening { transport: settings.place.transport(), history: journal };
    let options = ConsumerOptions {
        group: GROUP.to_owned(),
        topics: vec![TOPIC.to_owned()],
        endpoint: listener.local_addr()?.to_string(),
        session_timeout: Some(SESSION_TIMEOUT),
        drain_timeout: DRAIN_TIMEOUT,
        ..ConsumerOptions::new(settings.place.name, settings.place.endpoints)
    };
    let consumer = Consumer::over(options, transport)?;
    let reception = writer.reception();
    run_writer(consumer, Watched { writer, history }, reception, listener, stop::on_signal()?).await
}

/// The history of what a writer may do, and does.
#[derive(Debug)]
struct History(Arc<Journal>);

impl Witness for History {
    fn executed(&self, context: &OwnedContext, _: Epoch, offset: Offset, _: u64) -> io::Result<()> {
        self.0.write(&Entry::Wrote {
            claimed: look(context),
            generation: 0,
            offset: offset.get(),
            verdict: Verdict::Applied,
        })
    }
}

/// A writer that is looked at.
#[derive(Debug)]
struct Watched {
    writer: Writer,
    history: Arc<History>,
}

impl Watched {
    fn note_end(&self, context: &OwnedContext) -> io::Result<()> {
        let partition = context.partition().kafka_number();
        self.history.0.write(&Entry::Ended { partition, at: Moment::now() })
    }
}

#[async_trait]
impl PartitionHandler for Watched {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        self.writer.warm(context).await
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        self.writer.reserved(context).await
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.history.0.write(&granted(context))?;
        self.writer.assigned(context).await
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let drained = self.writer.drain(context).await?;
        self.note_end(context)?;
        Ok(drained)
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.writer.release(partition).await
    }

    async fn lost(&self, context: &OwnedContext) {
        self.writer.lost(context).await;
        self.note_end(context).expect("the history's folder is there for as long as the run");
    }
}
