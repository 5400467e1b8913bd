//! Writes that the broker fences: a transactional producer for each partition that is owned.

#[cfg(test)]
mod producers_test;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_types::id::{Epoch, TopicPartition};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::blocking::{KAFKA_BOUND, blocking};
use super::error::KafkaRunnerError;
use super::events::KafkaEvents;
use super::options::{KafkaOptions, without_secret};
use crate::claim::Claim;
use crate::context::OwnedContext;

/// Two owners that both believe in their claims would take the fence from each other without a pause.
const COOLDOWN: Duration = Duration::from_secs(1);

/// Transactional producers, one for each owned partition, so that the broker refuses what a zombie writes (KIP-98).
///
/// Their `transactional.id` is "group/topic/partition". Whoever takes the fence, by initialising a producer under it,
/// shuts out the one that had it. The [runner](crate::kafka::KafkaRunner::with_producers) takes it when a partition is
/// reserved or assigned, before it reads the rest of the log; [`write`](Self::write) puts records into a transaction.
/// Clones share the producers.
///
/// Each is a client of its own, with threads and connections, which is why a process may have [`MOST`](Self::MOST): its
/// consumer must not take more partitions (`ConsumerOptions::max_partitions`), or it is refused at its start.
///
/// A transaction holds the records of one write, and not the offset of the record that they follow from: that is committed
/// later. After a crash in between, or a commit of which the answer was lost, they are written once more.
#[derive(Clone)]
pub struct FencedProducers(Arc<SharedProducers>);

struct SharedProducers {
    config: ClientConfig,
    events: KafkaEvents,
    group: String,
    slots: Mutex<BTreeMap<TopicPartition, ProducerSlot>>,
    leases: AtomicU64,
}

enum ProducerSlot {
    Free(Fenced),
    /// In the works, by the lease of this number.
    Busy(u64),
}

/// A producer that has the fence, or had it.
struct Fenced {
    producer: OwnProducer,
    epoch: Epoch,
    taken: Instant,
    /// Somebody else has taken the fence, or what became of a transaction is not known.
    spent: bool,
}

/// A producer that ends beside the runtime, and outside of every lock: librdkafka joins a thread for that, and flushes.
struct OwnProducer(Option<TransactionalProducer>);

type TransactionalProducer = FutureProducer<KafkaEvents>;

impl OwnProducer {
    fn get(&self) -> &TransactionalProducer {
        self.0.as_ref().expect("taken only when dropped")
    }
}

impl Drop for OwnProducer {
    fn drop(&mut self) {
        let producer = self.0.take();
        // Without a thread it ends here: late is better than not at all.
        let _ = std::thread::Builder::new().name("kafka-producer".to_owned()).spawn(move || end(producer));
    }
}

/// Ends a producer. A transaction that was dropped halfway must not hold up those who read what is committed; where there is
/// none, librdkafka says so at once.
fn end(producer: Option<TransactionalProducer>) {
    if let Some(producer) = producer {
        let _ = producer.abort_transaction(KAFKA_BOUND);
    }
}

/// Nothing was written, except where it says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The claim is not valid.
    #[error("the claim for {0} is not valid")]
    NoClaim(TopicPartition),
    /// So many partitions have producers already.
    #[error("no producer for {0}: {most} partitions have one already", most = FencedProducers::MOST)]
    TooMany(TopicPartition),
    /// Another write for the partition is under way.
    #[error("another write for {0} is under way")]
    Busy(TopicPartition),
    /// The fence could not be taken.
    #[error("the fence of {partition} can't be taken")]
    Fence {
        /// The partition.
        partition: TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: KafkaError,
    },
    /// Somebody else has taken the fence. With a valid claim, the next write takes it again: decide anew whether it is
    /// still to be made.
    #[error("another producer has taken the fence of {0}")]
    Fenced(TopicPartition),
    /// The transaction failed. Where its commit was not answered, it may have been written.
    #[error("the transaction for {partition} failed")]
    Transaction {
        /// The partition.
        partition: TopicPartition,
        /// The error of the Kafka client.
        #[source]
        source: KafkaError,
    },
}

impl fmt::Debug for FencedProducers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions: Vec<_> = self.slots().keys().cloned().collect();
        f.debug_struct("FencedProducers").field("partitions", &partitions).finish_non_exhaustive()
    }
}

impl FencedProducers {
    /// The most partitions of a process that may have producers.
    pub const MOST: u32 = 32;

    /// No producers yet. `options` name the brokers, the group, and how brokers are reached (settings `security.*`, `sasl.*`,
    /// `ssl.*` and the like); `settings` are more settings of librdkafka, for producers.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::Empty`]: there are no brokers, or no group.
    pub fn new(options: &KafkaOptions, settings: &[(String, String)]) -> Result<Self, KafkaRunnerError> {
        options.check_names()?;
        let mut config = ClientConfig::new();
        // A transaction is on the way of whoever waits for it.
        config.set("linger.ms", "0");
        for (key, value) in options.connection_settings().chain(settings) {
            config.set(key, value);
        }
        config.set("bootstrap.servers", &options.brokers);
        let events = KafkaEvents::of(options);
        let (group, slots, leases) = (options.group.clone(), Mutex::default(), AtomicU64::new(0));
        Ok(Self(Arc::new(SharedProducers { config, events, group, slots, leases })))
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, ProducerSlot>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the fence for the claim's epoch, unless it was taken for that one. Asks the claim before and after: a fence
    /// that was taken too late is given up at once.
    ///
    /// Cancel safe: a fence that was taken halfway is taken again.
    ///
    /// # Errors
    ///
    /// Every variant of [`WriteError`] but [`Fenced`](WriteError::Fenced) and [`Transaction`](WriteError::Transaction).
    pub(super) async fn fence(&self, at: &TopicPartition, claim: &Claim) -> Result<(), WriteError> {
        let (lease, before) = self.lease(at)?;
        let fenced = self.fenced(at, before, claim, |before| before.epoch == claim.epoch()).await?;
        lease.give_back(fenced);
        Ok(())
    }

    /// Writes records in one transaction, all or none, under the fence of the context's partition. One write at a time
    /// for each partition.
    ///
    /// Not cancel safe: dropped halfway, the records may have been written; the next write takes the fence again.
    ///
    /// # Errors
    ///
    /// [`WriteError`]
    pub async fn write(
        &self,
        context: &OwnedContext,
        records: Vec<FutureRecord<'_, [u8], [u8]>>,
    ) -> Result<(), WriteError> {
        let (at, claim) = (context.partition(), context.claim());
        let (lease, before) = self.lease(at)?;
        let mut fenced = self.to_write(at, before, claim).await?;
        let written = fenced.write(at, claim, records).await;
        if written.is_err() {
            fenced.spent = true;
            fenced.abort().await;
        }
        lease.give_back(fenced);
        written
    }

    /// A producer to write with. An epoch that has risen under an owner that goes on costs nothing: where somebody else has
    /// taken the fence meanwhile, the broker says so.
    async fn to_write(
        &self,
        at: &TopicPartition,
        before: Option<Fenced>,
        claim: &Claim,
    ) -> Result<Fenced, WriteError> {
        self.fenced(at, before, claim, |before| before.epoch <= claim.epoch()).await
    }

    /// The producer that there was, if it `serves`, or one that takes the fence for the claim's epoch.
    async fn fenced(
        &self,
        at: &TopicPartition,
        before: Option<Fenced>,
        claim: &Claim,
        serves: impl Fn(&Fenced) -> bool + Send,
    ) -> Result<Fenced, WriteError> {
        let no_claim = || WriteError::NoClaim(at.clone());
        if let Some(before) = before {
            if !before.spent && serves(&before) && claim.is_valid() {
                return Ok(before);
            }
            if before.spent {
                sleep_until(before.taken + COOLDOWN).await;
            }
        }
        if !claim.is_valid() {
            return Err(no_claim());
        }
        let (epoch, bound) = (claim.epoch(), KAFKA_BOUND.min(claim.remaining()));
        let taken = self.take(at, bound).await;
        let producer = taken.map_err(|source| WriteError::Fence { partition: at.clone(), source })?;
        let producer = OwnProducer(Some(producer));
        if !claim.is_valid() {
            warn!(partition = %at, %epoch, "the claim was over when the fence was taken");
            return Err(no_claim());
        }
        info!(partition = %at, %epoch, "fence taken");
        Ok(Fenced { producer, epoch, taken: Instant::now(), spent: false })
    }

    async fn take(&self, at: &TopicPartition, bound: Duration) -> Result<TransactionalProducer, KafkaError> {
        let mut config = self.0.config.clone();
        let id = format!("{}/{at}", self.0.group);
        config.set("transactional.id", id);
        let events = self.0.events.clone();
        blocking(move || {
            let producer: TransactionalProducer =
                config.create_with_context(events).map_err(without_secret)?;
            producer.init_transactions(bound)?;
            Ok(producer)
        })
        .await
    }

    /// Drops the producer of a partition. Its fence stays until somebody takes it.
    pub(super) fn forget(&self, at: &TopicPartition) {
        let forgotten = self.slots().remove(at);
        drop(forgotten);
    }

    fn lease(&self, at: &TopicPartition) -> Result<(ProducerLease<'_>, Option<Fenced>), WriteError> {
        let mut slots = self.slots();
        if slots.len() >= Self::MOST as usize && !slots.contains_key(at) {
            return Err(WriteError::TooMany(at.clone()));
        }
        if matches!(slots.get(at), Some(ProducerSlot::Busy(_))) {
            return Err(WriteError::Busy(at.clone()));
        }
        let number = self.0.leases.fetch_add(1, Ordering::Relaxed);
        let before = match slots.insert(at.clone(), ProducerSlot::Busy(number)) {
            Some(ProducerSlot::Free(fenced)) => Some(fenced),
            Some(ProducerSlot::Busy(_)) | None => None,
        };
        Ok((ProducerLease { of: self, at: at.clone(), number }, before))
    }
}

impl Fenced {
    async fn write(
        &self,
        at: &TopicPartition,
        claim: &Claim,
        records: Vec<FutureRecord<'_, [u8], [u8]>>,
    ) -> Result<(), WriteError> {
        self.send(records).await.map_err(|source| self.failure(at, source))?;
        // The effect: until here nobody who reads what is committed sees anything.
        if !claim.is_valid() {
            return Err(WriteError::NoClaim(at.clone()));
        }
        let producer = self.producer.get().clone();
        let committed = blocking(move || producer.commit_transaction(KAFKA_BOUND)).await;
        committed.map_err(|source| self.failure(at, source))
    }

    /// Ends a transaction that failed, so that nobody who reads what is committed waits for it. True if that is done. The
    /// producer is not written with again: librdkafka may still purge what comes next.
    async fn abort(&self) -> bool {
        let producer = self.producer.get().clone();
        let is_fenced = producer.client().fatal_error().is_some();
        !is_fenced && blocking(move || producer.abort_transaction(KAFKA_BOUND)).await.is_ok()
    }

    async fn send(&self, records: Vec<FutureRecord<'_, [u8], [u8]>>) -> KafkaResult<()> {
        let producer = self.producer.get();
        producer.begin_transaction()?;
        let send = |record| producer.send_result(record).map_err(|(error, _)| error);
        let sent = records.into_iter().map(send).collect::<Result<Vec<_>, _>>()?;
        for delivery in sent {
            delivery.await.map_err(|_| KafkaError::Canceled)?.map_err(|(error, _)| error)?;
        }
        Ok(())
    }

    fn failure(&self, at: &TopicPartition, source: KafkaError) -> WriteError {
        // A record that was in flight when the fence was taken fails for a reason of its own.
        let fatal = self.producer.get().client().fatal_error().map(|(code, _)| code);
        match source.rdkafka_error_code().into_iter().chain(fatal).any(is_fenced) {
            true => WriteError::Fenced(at.clone()),
            false => WriteError::Transaction { partition: at.clone(), source },
        }
    }
}

const fn is_fenced(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode::{Fenced, InvalidProducerEpoch, ProducerFenced, TransactionCoordinatorFenced};
    matches!(code, Fenced | InvalidProducerEpoch | ProducerFenced | TransactionCoordinatorFenced)
}

/// The only one that works with the producer of a partition. Dropped without giving it back, the producer goes with it.
/// If the partition was forgotten meanwhile, its slot may be that of another lease, which this one leaves alone.
struct ProducerLease<'a> {
    of: &'a FencedProducers,
    at: TopicPartition,
    number: u64,
}

impl ProducerLease<'_> {
    fn give_back(self, fenced: Fenced) {
        let mut slots = self.of.slots();
        if let Some(slot) = slots.get_mut(&self.at).filter(|slot| self.has(slot)) {
            *slot = ProducerSlot::Free(fenced);
        }
    }

    const fn has(&self, slot: &ProducerSlot) -> bool {
        matches!(slot, ProducerSlot::Busy(number) if *number == self.number)
    }
}

impl Drop for ProducerLease<'_> {
    fn drop(&mut self) {
        let mut slots = self.of.slots();
        if slots.get(&self.at).is_some_and(|slot| self.has(slot)) {
            slots.remove(&self.at);
        }
    }
}
