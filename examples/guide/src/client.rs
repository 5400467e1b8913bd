//! `docs/guide/client.md`: a consumer with all that one may want.

use std::error::Error;
use std::num::NonZeroU64;

use bytes::Bytes;
use kafka_assigner_client::kafka::{
    BatchEnd, FileSnapshots, Gap, RunnerHandle, SeekError, Sharded, StartPosition, StartPositions,
    StateReadError,
};
use kafka_assigner_client::prelude::*;
use kafka_assigner_client::{ClientTlsConfig, ClientTlsFiles, GrpcTransport, TokenOrigin};

/// Adds the amounts of orders up.
#[derive(Debug)]
pub struct Amounts;

fn amount(record: &Record) -> Result<u64, RecordError> {
    let text = std::str::from_utf8(record.value().unwrap_or_default()).unchanged()?;
    text.parse().unchanged()
}

impl Amounts {
    async fn tell(&self, epoch: Epoch, amounts: &[u64]) -> std::io::Result<()> {
        println!("{amounts:?} under {epoch}");
        Ok(())
    }
}

impl RecordHandler for Amounts {
    type State = u64;

    const BATCH: usize = 500;

    async fn open(
        &self,
        _: &Preparation,
        snapshot: Option<StateSnapshot>,
    ) -> Result<OpenedState<u64>, RecordError> {
        let Some(snapshot) = snapshot else { return Ok(OpenedState::empty(0)) };
        let total = std::str::from_utf8(&snapshot.bytes)?.parse()?;
        Ok(OpenedState::up_to(total, snapshot.next_offset, snapshot.topic_id))
    }

    fn snapshot(&self, _: &TopicPartition, total: &u64) -> Result<Option<Bytes>, RecordError> {
        Ok(Some(total.to_string().into()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        total: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        *total += amount(record)?;
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        total: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        let amount = amount(record)?;
        self.tell(context.epoch(), &[amount]).await.unchanged()?;
        *total += amount; // the state last: until here every error leaves it as it was
        Ok(())
    }

    async fn process_batch(
        &self,
        context: &PartitionContext,
        total: &mut u64,
        records: &[Record],
    ) -> BatchEnd {
        let mut amounts = Vec::with_capacity(records.len());
        for record in records {
            match amount(record) {
                Ok(amount) => amounts.push(amount),
                Err(_) => break, // the next call begins with it, and says why
            }
        }
        if amounts.is_empty() {
            let error = self.process(context, total, &records[0]).await.err();
            return BatchEnd { handled: usize::from(error.is_none()), error };
        }
        match self.tell(context.epoch(), &amounts).await.unchanged() {
            Ok(()) => *total += amounts.iter().sum::<u64>(),
            Err(error) => return BatchEnd { handled: 0, error: Some(error) },
        }
        BatchEnd { handled: amounts.len(), error: None }
    }

    async fn gap(&self, partition: &TopicPartition, _: &mut u64, gap: Gap) -> Result<(), RecordError> {
        eprintln!("{partition}: nobody will count {} to {}", gap.from, gap.to);
        Ok(())
    }
}

/// A runner with a policy, a dead-letter topic, chosen starts and snapshots.
///
/// # Errors
///
/// A name is none, a folder can't be made, or a setting is refused.
pub fn runner(kafka: &KafkaOptions) -> Result<KafkaRunner<Amounts>, Box<dyn Error>> {
    let starts = StartPositions::all(StartPosition::Latest).with("orders".parse()?, StartPosition::Earliest);
    let snapshots = FileSnapshots::new("/var/lib/amounts")?;
    let every = NonZeroU64::new(100_000).expect("not zero");
    let runner = KafkaRunner::new(kafka, Amounts)?
        .with_policy(ErrorPolicy::after(5, Remedy::DeadLetter))
        .with_dead_letters(kafka, "orders-dead".parse()?)?
        .with_starts(starts)
        .with_snapshots(snapshots, every);
    Ok(runner)
}

/// A runner that handles eight keys of a partition at once.
///
/// # Errors
///
/// A setting is refused.
pub fn sharded(kafka: &KafkaOptions) -> Result<KafkaRunner<Sharded<Amounts>>, Box<dyn Error>> {
    Ok(KafkaRunner::new(kafka, Sharded::new(Amounts, 8))?)
}

/// The total of a partition, if it is owned here.
///
/// # Errors
///
/// It is not, or too many ask.
pub async fn total(handle: &RunnerHandle<u64>, at: &TopicPartition) -> Result<(u64, Epoch), StateReadError> {
    handle.read(at, |total, epoch| (*total, epoch)).await
}

/// Processes the records again that came since then.
///
/// # Errors
///
/// The partition is not owned under this epoch, or the place can't be committed.
pub async fn again(
    handle: &RunnerHandle<u64>,
    (at, epoch): (&TopicPartition, Epoch),
    since: i64,
) -> Result<(), SeekError> {
    handle.pause(at, epoch);
    let place = handle.seek(at, epoch, StartPosition::Timestamp(since)).await;
    handle.resume(at, epoch);
    place.map(drop)
}

/// Reading over TLS with a login.
#[must_use]
pub fn secured(consumer: &ConsumerOptions) -> KafkaOptions {
    let mut kafka = KafkaOptions::for_consumer(consumer, "kafka:9093");
    for (name, value) in
        [("security.protocol", "sasl_ssl"), ("sasl.mechanism", "SCRAM-SHA-512"), ("sasl.username", "amounts")]
    {
        kafka.settings.push((name.to_owned(), value.to_owned()));
    }
    kafka
}

/// A consumer that shows a token to instances with TLS.
///
/// # Errors
/// Where the options are not valid.
pub fn known_by_token() -> Result<Consumer, Box<dyn Error>> {
    let tls = ClientTlsConfig::new().with_enabled_roots();
    let token = TokenOrigin::File("/run/secrets/assigner-token".into());
    let transport = GrpcTransport::with_tls(tls).with_token(token);
    let consumer = Consumer::over(ConsumerOptions::new("amounts-1", ["https://assigner:7420"]), transport)?;
    Ok(consumer)
}

/// A transport whose certificates may be replaced at any time.
#[must_use]
pub fn rotating() -> GrpcTransport {
    let files = ClientTlsFiles::trusting("/run/tls/ca.crt").showing("/run/tls/tls.crt", "/run/tls/tls.key");
    GrpcTransport::with_tls_files(files)
}
