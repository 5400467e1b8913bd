//! Writes that the broker fences: a transactional producer for each partition that is owned.

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
/// Each is a client of its own, with threads and connections, which is why a process may have [`MOST`](Self::MOST).
#[derive(Clone)]
pub struct FencedProducers(Arc<SharedProducers>);

struct SharedProducers {
    config: ClientConfig,
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
    producer: FutureProducer,
    epoch: Epoch,
    taken: Instant,
    /// Somebody else has taken the fence, or what became of a transaction is not known.
    spent: bool,
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
    pub const MOST: usize = 32;

    /// No producers yet. `options` name the brokers, the group, and settings of librdkafka for producers.
    #[must_use]
    pub fn new(options: &KafkaOptions, settings: &[(String, String)]) -> Self {
        let mut config = ClientConfig::new();
        // A transaction is on the way of whoever waits for it.
        config.set("linger.ms", "0");
        for (key, value) in settings {
            config.set(key, value);
        }
        config.set("bootstrap.servers", &options.brokers);
        let (group, slots, leases) = (options.group.clone(), Mutex::default(), AtomicU64::new(0));
        Self(Arc::new(SharedProducers { config, group, slots, leases }))
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
        let fenced = self.fenced(at, before, claim).await?;
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
        let mut fenced = self.fenced(at, before, claim).await?;
        let written = fenced.write(context, records).await;
        fenced.spent = written.is_err();
        lease.give_back(fenced);
        written
    }

    /// A producer that has the fence for the claim's epoch: the one there was, or another.
    async fn fenced(
        &self,
        at: &TopicPartition,
        before: Option<Fenced>,
        claim: &Claim,
    ) -> Result<Fenced, WriteError> {
        let no_claim = || WriteError::NoClaim(at.clone());
        if let Some(before) = before {
            if !before.spent && before.epoch == claim.epoch() && claim.is_valid() {
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
        if !claim.is_valid() {
            warn!(partition = %at, %epoch, "the claim was over when the fence was taken");
            return Err(no_claim());
        }
        info!(partition = %at, %epoch, "fence taken");
        Ok(Fenced { producer, epoch, taken: Instant::now(), spent: false })
    }

    async fn take(&self, at: &TopicPartition, bound: Duration) -> Result<FutureProducer, KafkaError> {
        let mut config = self.0.config.clone();
        let id = format!("{}/{at}", self.0.group);
        config.set("transactional.id", id);
        blocking(move || {
            let producer: FutureProducer = config.create().map_err(without_secret)?;
            producer.init_transactions(bound)?;
            Ok(producer)
        })
        .await
    }

    /// Drops the producer of a partition. Its fence stays until somebody takes it.
    pub(super) fn forget(&self, at: &TopicPartition) {
        self.slots().remove(at);
    }

    fn lease(&self, at: &TopicPartition) -> Result<(ProducerLease<'_>, Option<Fenced>), WriteError> {
        let mut slots = self.slots();
        if slots.len() >= Self::MOST && !slots.contains_key(at) {
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
        context: &OwnedContext,
        records: Vec<FutureRecord<'_, [u8], [u8]>>,
    ) -> Result<(), WriteError> {
        let at = context.partition();
        self.send(records).await.map_err(|source| self.failure(at, source))?;
        // The effect: until here nobody who reads what is committed sees anything.
        if !context.claim().is_valid() {
            return Err(WriteError::NoClaim(at.clone()));
        }
        let producer = self.producer.clone();
        let committed = blocking(move || producer.commit_transaction(KAFKA_BOUND)).await;
        committed.map_err(|source| self.failure(at, source))
    }

    async fn send(&self, records: Vec<FutureRecord<'_, [u8], [u8]>>) -> KafkaResult<()> {
        self.producer.begin_transaction()?;
        let send = |record| self.producer.send_result(record).map_err(|(error, _)| error);
        let sent = records.into_iter().map(send).collect::<Result<Vec<_>, _>>()?;
        for delivery in sent {
            delivery.await.map_err(|_| KafkaError::Canceled)?.map_err(|(error, _)| error)?;
        }
        Ok(())
    }

    fn failure(&self, at: &TopicPartition, source: KafkaError) -> WriteError {
        // A record that was in flight when the fence was taken fails for a reason of its own.
        let fatal = self.producer.client().fatal_error().map(|(code, _)| code);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(number: u32) -> TopicPartition {
        TopicPartition::try_from(("t", number)).expect("a valid name")
    }

    fn producers() -> FencedProducers {
        FencedProducers::new(&KafkaOptions::new("127.0.0.1:1", "g"), &[])
    }

    fn fenced(producers: &FencedProducers, epoch: Epoch) -> Fenced {
        let producer = producers.0.config.create().expect("no broker is asked");
        Fenced { producer, epoch, taken: Instant::now(), spent: false }
    }

    // A write may outlast the loss of its partition, which begins again meanwhile.
    #[tokio::test]
    async fn a_lease_that_was_forgotten_touches_nothing_of_the_one_after_it() {
        for gives_back in [false, true] {
            let (producers, at) = (producers(), partition(0));
            let (old, _) = producers.lease(&at).expect("free");
            producers.forget(&at);
            let (new, before) = producers.lease(&at).expect("forgotten");
            assert!(before.is_none());
            match gives_back {
                true => old.give_back(fenced(&producers, Epoch(1))),
                false => drop(old),
            }
            assert!(matches!(producers.lease(&at), Err(WriteError::Busy(_))), "{gives_back}: two at once");
            new.give_back(fenced(&producers, Epoch(2)));
            let (_lease, before) = producers.lease(&at).expect("given back");
            assert_eq!(before.map(|before| before.epoch), Some(Epoch(2)));
        }
    }

    #[test]
    fn one_partition_more_than_the_bound_gets_no_producer_until_another_is_given_up() {
        let producers = producers();
        let at = |number: usize| partition(u32::try_from(number).expect("small"));
        let leases: Vec<_> = (0..FencedProducers::MOST).map(|number| producers.lease(&at(number))).collect();
        assert!(leases.iter().all(Result::is_ok));
        let more = at(FencedProducers::MOST);
        assert!(matches!(producers.lease(&more), Err(WriteError::TooMany(_))));
        assert!(matches!(producers.lease(&at(0)), Err(WriteError::Busy(_))));
        drop(leases);
        assert!(producers.lease(&more).is_ok());
    }
}
