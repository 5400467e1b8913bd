//! Shards: the records of one partition handled side by side, in order for each key.

use std::collections::BTreeSet;

use futures::future::join_all;
use kafka_assigner_types::id::{Offset, TopicPartition};

use crate::context::PartitionContext;
use crate::error::RecordError;
use crate::failures::guarded;
use crate::gap::Gap;
use crate::handler::{BatchEnd, Closing, RecordHandler};
use crate::preparation::{OpenedState, Preparation};
use crate::record::Record;
use crate::shard_confirmations::ShardConfirmations;
use crate::snapshot::StateSnapshot;

/// The most records that are in the works at once, and so the most that were finished above the lowest one that is not.
/// The same owner handles them once; after a crash they are handled again.
const MOST_AT_ONCE: usize = 256;

/// A handler whose partitions are split by key into shards, each with a state of its own.
///
/// Records of different shards are handled side by side, which pays where they wait for something, such as a database. Records
/// of one key, and all without a key, are handled one after the other. The offset that is committed is that of the lowest
/// record that is not finished.
///
/// The inner handler is called as if each shard were a partition by itself: a state for each is opened, begun, drained and
/// closed, and all of them begin at the lowest of their offsets. It takes no batches and no snapshots. What it
/// [confirms](PartitionContext::confirm) counts for the records of that shard; the lowest one that a shard has not confirmed
/// decides.
#[derive(Debug)]
pub struct Sharded<H> {
    handler: H,
    shards: usize,
}

/// The states of the shards of one partition.
#[derive(Debug)]
pub struct ShardedState<S> {
    shards: Vec<S>,
    /// The finished records above the lowest one that is not.
    finished: BTreeSet<Offset>,
    confirmations: ShardConfirmations,
}

impl<S> ShardedState<S> {
    fn new(shards: Vec<S>) -> Self {
        let confirmations = ShardConfirmations::new(shards.len());
        Self { shards, finished: BTreeSet::new(), confirmations }
    }

    /// The states, in the order of the shards.
    #[must_use]
    pub fn shards(&self) -> &[S] {
        &self.shards
    }

    /// The state of the shard that has the records of `key`.
    #[must_use]
    pub fn of_key(&self, key: Option<&[u8]>) -> &S {
        &self.shards[shard_of(key, self.shards.len())]
    }
}

/// The shard of a key, by FNV-1a (Fowler, Noll, Vo); records without a key are in the first one.
fn shard_of(key: Option<&[u8]>, shards: usize) -> usize {
    let byte = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = key.map_or(0, |key| key.iter().fold(0xcbf2_9ce4_8422_2325, byte));
    // Less than the number of shards, which is a usize.
    (hash % shards as u64) as usize
}

/// The end of a shard's part of a batch.
struct ShardEnd {
    finished: Vec<Offset>,
    error: Option<(Offset, RecordError)>,
}

impl<H: RecordHandler> Sharded<H> {
    /// Splits the partitions of `handler` into so many shards; 0 counts as 1.
    pub fn new(handler: H, shards: usize) -> Self {
        Self { handler, shards: shards.max(1) }
    }

    async fn work(
        &self,
        context: &PartitionContext,
        state: &mut H::State,
        records: Vec<&Record>,
    ) -> ShardEnd {
        let mut finished = Vec::with_capacity(records.len());
        for record in records {
            if !context.may_act() {
                break;
            }
            if let Err(error) = guarded(self.handler.process(context, state, record)).await {
                return ShardEnd { finished, error: Some((record.offset(), error)) };
            }
            finished.push(record.offset());
        }
        ShardEnd { finished, error: None }
    }

    /// The records of each shard that are not finished.
    fn split<'a>(&self, finished: &BTreeSet<Offset>, records: &'a [Record]) -> Vec<Vec<&'a Record>> {
        let mut shares = vec![Vec::new(); self.shards];
        for record in records.iter().filter(|record| !finished.contains(&record.offset())) {
            shares[shard_of(record.key(), self.shards)].push(record);
        }
        shares
    }
}

/// The part of `records` that was handled without a hole, and the error of the next one. Errors of later ones come again
/// with their records; but a state that one of them has spoiled is spoiled now.
fn end_of(records: &[Record], finished: &mut BTreeSet<Offset>, ends: Vec<ShardEnd>) -> BatchEnd {
    let mut errors = Vec::new();
    for end in ends {
        finished.extend(end.finished);
        errors.extend(end.error);
    }
    let handled = records.iter().take_while(|record| finished.contains(&record.offset())).count();
    let next = records.get(handled).map(Record::offset);
    *finished = next.map_or_else(BTreeSet::new, |next| finished.split_off(&next));
    let spoils = errors.iter().any(|(_, error)| error.is_spoiled());
    // A shard works on until it fails, so the first error is that of the next record, unless the claim ended.
    let error =
        errors.into_iter().min_by_key(|(offset, _)| *offset).filter(|(offset, _)| Some(*offset) == next);
    BatchEnd { handled, error: error.map(|(_, error)| if spoils { error.spoiled() } else { error }) }
}

impl<H: RecordHandler> RecordHandler for Sharded<H> {
    type State = ShardedState<H::State>;

    const BATCH: usize = MOST_AT_ONCE;

    async fn open(
        &self,
        preparation: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Self::State>, RecordError> {
        let (mut shards, mut begin, mut of_topic) = (Vec::with_capacity(self.shards), None, None);
        for _ in 0..self.shards {
            let OpenedState { state, next_offset, topic_id } = self.handler.open(preparation, None).await?;
            shards.push(state);
            begin = begin.into_iter().chain(next_offset).min();
            of_topic = of_topic.or(topic_id);
        }
        let state = ShardedState::new(shards);
        Ok(OpenedState { state, next_offset: begin, topic_id: of_topic })
    }

    async fn catch_up(
        &self,
        partition: &TopicPartition,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        let shard = shard_of(record.key(), self.shards);
        // While a partition is processed, this is called for what is passed over.
        state.confirmations.pass_over(shard, record.offset());
        self.handler.catch_up(partition, &mut state.shards[shard], record).await
    }

    async fn process(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        if state.finished.remove(&record.offset()) {
            return Ok(());
        }
        let shard = shard_of(record.key(), self.shards);
        state.confirmations.give(shard, record.offset().next());
        let context = state.confirmations.context_of(context, shard);
        self.handler.process(&context, &mut state.shards[shard], record).await?;
        state.confirmations.handled(shard, record.offset().next());
        Ok(())
    }

    async fn process_batch(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
        records: &[Record],
    ) -> BatchEnd {
        let shares = self.split(&state.finished, records);
        let mut contexts = Vec::with_capacity(shares.len());
        for (shard, share) in shares.iter().enumerate() {
            share.last().into_iter().for_each(|last| state.confirmations.give(shard, last.offset().next()));
            contexts.push(state.confirmations.context_of(context, shard));
        }
        let parts = contexts.iter().zip(&mut state.shards).zip(shares);
        let ends = join_all(parts.map(|((context, shard), share)| self.work(context, shard, share))).await;
        for (shard, end) in ends.iter().enumerate() {
            end.finished.last().into_iter().for_each(|last| state.confirmations.handled(shard, last.next()));
        }
        end_of(records, &mut state.finished, ends)
    }

    async fn fence(&self, context: &PartitionContext) -> Result<(), RecordError> {
        self.handler.fence(context).await
    }

    async fn begin(&self, context: &PartitionContext, state: &mut Self::State) -> Result<(), RecordError> {
        for (number, shard) in state.shards.iter_mut().enumerate() {
            self.handler.begin(&state.confirmations.context_of(context, number), shard).await?;
        }
        Ok(())
    }

    async fn gap(
        &self,
        partition: &TopicPartition,
        state: &mut Self::State,
        gap: Gap,
    ) -> Result<(), RecordError> {
        for shard in &mut state.shards {
            self.handler.gap(partition, shard, gap).await?;
        }
        Ok(())
    }

    async fn drained(&self, context: &PartitionContext, state: &mut Self::State) -> Result<(), RecordError> {
        for (number, shard) in state.shards.iter_mut().enumerate() {
            self.handler.drained(&state.confirmations.context_of(context, number), shard).await?;
        }
        Ok(())
    }

    async fn close(&self, partition: &TopicPartition, closing: Closing, state: Option<Self::State>) {
        let Some(state) = state else { return self.handler.close(partition, closing, None).await };
        for shard in state.shards {
            self.handler.close(partition, closing, Some(shard)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use futures::executor::block_on;
    use kafka_assigner_types::id::Epoch;

    use super::*;
    use crate::confirmations::Confirmations;
    use crate::context::Ownership;

    /// Always valid.
    struct Ever;

    impl Ownership for Ever {
        fn epoch(&self) -> Epoch {
            Epoch(1)
        }

        fn may_act(&self) -> bool {
            true
        }

        fn ended(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::pending())
        }
    }

    /// Notes the offsets that it handles, and fails at those that it is told.
    #[derive(Default)]
    struct Noting {
        fails_at: Mutex<Vec<i64>>,
        spoils: bool,
    }

    impl RecordHandler for Noting {
        type State = Vec<i64>;

        async fn open(
            &self,
            _: &Preparation,
            _: Option<StateSnapshot>,
        ) -> Result<OpenedState<Vec<i64>>, RecordError> {
            Ok(OpenedState::empty(Vec::new()))
        }

        async fn catch_up(
            &self,
            _: &TopicPartition,
            _: &mut Vec<i64>,
            _: &Record,
        ) -> Result<(), RecordError> {
            Ok(())
        }

        async fn process(
            &self,
            _: &PartitionContext,
            seen: &mut Vec<i64>,
            record: &Record,
        ) -> Result<(), RecordError> {
            let offset = record.offset().get();
            if self.fails_at.lock().unwrap().contains(&offset) {
                let error = RecordError::unchanged(offset.to_string());
                return Err(if self.spoils { error.spoiled() } else { error });
            }
            seen.push(offset);
            Ok(())
        }
    }

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).unwrap()
    }

    /// Offset `n` has the key `n % 4`.
    fn records(offsets: std::ops::Range<i64>) -> Vec<Record> {
        let record =
            |offset: i64| Record::new(at(), Offset::new(offset).unwrap()).with_key((offset % 4).to_string());
        offsets.map(record).collect()
    }

    fn state(shards: usize) -> ShardedState<Vec<i64>> {
        ShardedState::new(vec![Vec::new(); shards])
    }

    fn run(handler: &Sharded<Noting>, state: &mut ShardedState<Vec<i64>>, records: &[Record]) -> BatchEnd {
        let context = PartitionContext::new(at(), None, Arc::new(Ever));
        block_on(handler.process_batch(&context, state, records))
    }

    #[test]
    fn each_record_is_handled_once_and_in_the_order_of_its_key() {
        let (handler, mut state) = (Sharded::new(Noting::default(), 3), state(3));
        *handler.handler.fails_at.lock().unwrap() = vec![5, 10];
        let end = run(&handler, &mut state, &records(0..20));
        assert_eq!((end.handled, end.error.unwrap().text()), (5, "5".to_owned()));
        handler.handler.fails_at.lock().unwrap().clear();
        let end = run(&handler, &mut state, &records(5..20));
        assert!(end.handled == 15 && end.error.is_none() && state.finished.is_empty());
        let mut all: Vec<i64> = state.shards.concat();
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
        for key in 0..4 {
            let of_key =
                state.of_key(Some(key.to_string().as_bytes())).iter().filter(|offset| **offset % 4 == key);
            assert!(of_key.is_sorted());
        }
    }

    #[test]
    fn a_state_that_a_later_record_has_spoiled_is_spoiled_at_once() {
        let handler = Noting { fails_at: Mutex::new(vec![5, 6]), spoils: true };
        let (handler, mut state) = (Sharded::new(handler, 8), state(8));
        let end = run(&handler, &mut state, &records(0..20));
        let error = end.error.unwrap();
        assert_eq!((end.handled, error.text(), error.is_spoiled()), (5, "5".to_owned(), true));
    }

    /// Confirms each record as soon as it is handled; fails at one.
    struct Confirming(i64);

    impl RecordHandler for Confirming {
        type State = ();

        async fn open(
            &self,
            _: &Preparation,
            _: Option<StateSnapshot>,
        ) -> Result<OpenedState<()>, RecordError> {
            Ok(OpenedState::empty(()))
        }

        async fn catch_up(&self, _: &TopicPartition, _: &mut (), _: &Record) -> Result<(), RecordError> {
            Ok(())
        }

        async fn process(
            &self,
            context: &PartitionContext,
            _: &mut (),
            record: &Record,
        ) -> Result<(), RecordError> {
            if record.offset().get() == self.0 {
                return Err(RecordError::unchanged("no amount"));
            }
            context.confirm(record.offset().next());
            Ok(())
        }
    }

    #[test]
    fn a_record_that_is_passed_over_holds_up_no_confirmation_of_other_shards() {
        let (handler, mut state) = (Sharded::new(Confirming(7), 3), ShardedState::new(vec![(); 3]));
        let confirmed = Confirmations::from(Offset::ZERO);
        let context =
            PartitionContext::new(at(), None, Arc::new(Ever)).confirmed_by(Arc::new(confirmed.clone()));
        let records = records(0..8);
        let end = block_on(handler.process_batch(&context, &mut state, &records));
        assert_eq!(
            (end.handled, confirmed.next().get()),
            (7, 4),
            "the shard of offset 7 has confirmed offset 3"
        );
        // A runner does this where it passes a record over.
        block_on(handler.catch_up(&at(), &mut state, &records[7])).unwrap();
        confirmed.pass_over(records[7].offset(), records[7].offset().next());
        assert_eq!(confirmed.next().get(), 8);
    }

    #[test]
    fn a_key_has_the_same_shard_for_ever() {
        let shards =
            [None, Some(&b""[..]), Some(b"a"), Some(b"b"), Some(b"order-7")].map(|key| shard_of(key, 16));
        assert_eq!(shards, [0, 5, 12, 5, 11]);
        assert_eq!(shard_of(Some(b"a"), 1), 0);
    }
}
