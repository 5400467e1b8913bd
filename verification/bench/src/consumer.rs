//! A consumer on a connection of its own: it listens, sends heartbeats and does nothing else, so that what is
//! measured is the service.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::v1::{
    AssignmentCommand, Caller, Capability, HeartbeatRequest, PartitionAck, PartitionReadyRequest,
    RegisterRequest, Renewal, SessionInfo,
};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tonic::transport::Channel;
use tonic::{Status, Streaming};

/// The group of every scenario with one group.
pub(crate) const GROUP: &str = "bench";

/// A third of the default session, as the client library sends them.
const HEARTBEATS: Duration = Duration::from_secs(10);

/// The time at which a consumer was told of partitions that they are its own, and their number.
pub(crate) type Told = (Instant, usize);

/// A registered consumer.
#[derive(Debug)]
pub(crate) struct Consumer {
    group: String,
    name: String,
    api: KafkaAssignerClient<Channel>,
    commands: Streaming<AssignmentCommand>,
    session: SessionInfo,
}

impl Consumer {
    /// Connects to the instance at `address` and registers in [`GROUP`].
    pub(crate) async fn register(address: &str, number: usize) -> Result<Self> {
        Self::register_in(GROUP, address, number).await
    }

    /// Connects to the instance at `address` and registers in `group`.
    pub(crate) async fn register_in(group: &str, address: &str, number: usize) -> Result<Self> {
        let name = format!("consumer-{number:05}");
        let mut api = KafkaAssignerClient::connect(address.to_owned()).await?;
        let request = RegisterRequest {
            group: group.to_owned(),
            consumer_name: name.clone(),
            incarnation: format!("{name}-1"),
            renewal: Renewal::Client.into(),
            capabilities: vec![Capability::Snapshot.into(), Capability::Taken.into()],
            ..RegisterRequest::default()
        };
        let mut commands = api.register(request).await?.into_inner();
        let first = commands.message().await?.and_then(|told| told.command);
        let Some(Command::Snapshot(snapshot)) = first else {
            anyhow::bail!("the first command was {first:?} and no snapshot");
        };
        let session = snapshot.session.context("a snapshot names its session")?;
        Ok(Self { group: group.to_owned(), name, api, commands, session })
    }

    /// The calls of this consumer.
    pub(crate) fn acknowledging(&self) -> Acknowledging {
        let caller = Caller {
            group: self.group.clone(),
            consumer_name: self.name.clone(),
            incarnation: self.session.incarnation.clone(),
        };
        Acknowledging { caller, api: self.api.clone() }
    }

    /// Waits until it is told to prepare for a partition.
    pub(crate) async fn first_warm(mut self) -> Result<Instant> {
        while let Some(told) = self.commands.message().await? {
            if let Some(Command::Warm(_)) = told.command {
                return Ok(Instant::now());
            }
        }
        anyhow::bail!("the stream ended before there was anything to prepare for")
    }

    /// Listens until the stream ends, and passes on what it is told to own.
    pub(crate) async fn run(mut self, owned: mpsc::Sender<Told>) -> Result<()> {
        let mut heartbeats = interval(HEARTBEATS);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // Commands first: their times are what is measured.
                told = self.commands.message() => match told?.map(|told| told.command) {
                    Some(Some(Command::Assignment(news))) => {
                        owned.send((Instant::now(), news.assigned.len())).await?;
                    }
                    Some(_) => {}
                    None => return Ok(()),
                },
                _ = heartbeats.tick() => self.heartbeat().await?,
            }
        }
    }

    async fn heartbeat(&mut self) -> Result<()> {
        let request = HeartbeatRequest {
            group: self.group.clone(),
            consumer_name: self.name.clone(),
            incarnation: self.session.incarnation.clone(),
            lease: self.session.lease,
            ..HeartbeatRequest::default()
        };
        self.api.heartbeat(request).await?;
        Ok(())
    }
}

/// A consumer's own calls, beside the stream of its session.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledging {
    caller: Caller,
    api: KafkaAssignerClient<Channel>,
}

impl Acknowledging {
    /// Acknowledges a handoff that is over, which changes nothing.
    pub(crate) async fn late_ready(&mut self, topic: &str) -> Result<(), Status> {
        let partition = PartitionAck {
            topic: topic.to_owned(),
            handoff_id: "over".to_owned(),
            ..PartitionAck::default()
        };
        let request =
            PartitionReadyRequest { caller: Some(self.caller.clone()), partitions: vec![partition] };
        self.api.partition_ready(request).await.map(drop)
    }
}

/// Consumers that run, and what they are told.
#[derive(Debug)]
pub(crate) struct Crowd {
    owned: mpsc::Receiver<Told>,
}

impl Crowd {
    /// Registers `size` consumers, one after the other. They run until the instance is gone.
    pub(crate) async fn register(address: &str, size: usize) -> Result<Self> {
        let mut consumers = Vec::with_capacity(size);
        for number in 0..size {
            consumers.push(Consumer::register(address, number).await?);
        }
        Ok(Self::of(consumers))
    }

    /// Runs `consumers` until their instances are gone.
    pub(crate) fn of(consumers: Vec<Consumer>) -> Self {
        // A message for each consumer and chunk of a plan would be far more; then a stream waits, which counts.
        let (sender, owned) = mpsc::channel(10_000);
        for consumer in consumers {
            tokio::spawn(consumer.run(sender.clone()));
        }
        Self { owned }
    }

    /// Waits until they were told of `partitions` in all; returns when the last of these was.
    pub(crate) async fn own(&mut self, partitions: usize) -> Result<Instant> {
        let mut count = 0;
        loop {
            let (at, more) = self.owned.recv().await.context("every consumer's stream ended")?;
            count += more;
            if count >= partitions {
                return Ok(at);
            }
        }
    }
}
