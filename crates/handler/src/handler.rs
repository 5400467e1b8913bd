//! The trait that a user implements to handle records.

use bytes::Bytes;
use kafka_assigner_types::id::TopicPartition;

use crate::context::PartitionContext;
use crate::error::RecordError;
use crate::gap::Gap;
use crate::preparation::{OpenedState, Preparation};
use crate::record::Record;
use crate::snapshot::StateSnapshot;

/// The end of what a handler did with a batch.
#[derive(Debug)]
pub struct BatchEnd {
    /// The number of records that were handled, from the first one on.
    pub handled: usize,
    /// The error of the next one; `None` = there is none, and it was not begun if any is left.
    pub error: Option<RecordError>,
}

/// The reason for which the state of a partition is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// In good order: another consumer has the partition, or it is not needed any more.
    Released,
    /// The partition was taken without asking, or its state is spoiled.
    Lost,
}

/// Handles the records of partitions, with a state for each partition that the runner keeps.
///
/// Calls for one partition come one after the other, those for different partitions side by side. A call whose result is
/// not wanted any more may be dropped at an await.
///
/// Three methods have to be written; the others do nothing unless they are.
///
/// The error of a call that is about no record (`open`, `fence`, `gap`, `begin`, `drained`) has the step fail of which it is a part.
/// That step is tried again, after half a second at first and 10 s at most, in this process or, where it was for a move, in another one;
/// no [`ErrorPolicy`](crate::ErrorPolicy) decides about it. The [remedy](crate::Remedy) of the error counts too:
///
/// | remedy | beside that |
/// | --- | --- |
/// | none, retry | nothing; the wait that a retry names counts for records only |
/// | skip, dead letter | nothing, since there is no record to pass over; the text of the failure says so |
/// | stop | the partition stands, and says so with the reason, until the step succeeds. Where `drained` answers it, no more records come |
/// | fatal | the same, and the consumer gives all partitions up and ends |
///
/// ```
/// use kafka_assigner_handler::*;
///
/// struct Counter;
///
/// impl RecordHandler for Counter {
///     type State = u64;
///
///     async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<u64>, RecordError> {
///         Ok(OpenedState::empty(0))
///     }
///
///     async fn catch_up(&self, _: &TopicPartition, count: &mut u64, _: &Record) -> Result<(), RecordError> {
///         *count += 1;
///         Ok(())
///     }
///
///     async fn process(&self, context: &PartitionContext, count: &mut u64, _: &Record) -> Result<(), RecordError> {
///         *count += 1;
///         println!("{}: {count}, under epoch {}", context.partition(), context.epoch());
///         Ok(())
///     }
/// }
/// ```
pub trait RecordHandler: Send + Sync + 'static {
    /// The state that the records of one partition amount to, for example counts for each key; `()` where there is none.
    type State: Send + 'static;

    /// The most records that [`process_batch`](Self::process_batch) is given at once; 0 counts as 1. Default 1: then
    /// only [`process`](Self::process) is called.
    const BATCH: usize = 1;

    /// The start of a partition: a state, and the offset up to which it stands. `snapshot` is the last one that this
    /// handler wrote, of the same topic; `None` = there is none.
    ///
    /// It may be called again for the same partition, after a preparation that failed.
    ///
    /// # Errors
    ///
    /// Anything; the preparation then fails, and is tried again later or by another consumer. For *stop* and *fatal* see
    /// [above](Self).
    fn open(
        &self,
        preparation: &Preparation,
        snapshot: Option<StateSnapshot>,
    ) -> impl Future<Output = Result<OpenedState<Self::State>, RecordError>> + Send;

    /// Brings the state forward by one record that another owner has handled, or is handling: no effects.
    ///
    /// # Errors
    ///
    /// Anything, see [`RecordError`]. A record that is skipped, or has no remedy left but the dead-letter topic, is passed
    /// over without a letter: it must fail in every process alike, or states differ.
    fn catch_up(
        &self,
        partition: &TopicPartition,
        state: &mut Self::State,
        record: &Record,
    ) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Handles one record: the change that [`catch_up`](Self::catch_up) makes, and effects. Put the context's epoch beside
    /// every effect.
    ///
    /// # Errors
    ///
    /// Anything, see [`RecordError`]. A record that is passed over then goes to `catch_up`, as it will in every rebuild.
    fn process(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
        record: &Record,
    ) -> impl Future<Output = Result<(), RecordError>> + Send;

    /// Handles some records, in order, for example in one transaction. By default one after the other, for as long as the
    /// owner may act. At most [`BATCH`](Self::BATCH) come, and at least one.
    fn process_batch(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
        records: &[Record],
    ) -> impl Future<Output = BatchEnd> + Send {
        async move {
            for (handled, record) in records.iter().enumerate() {
                if !context.may_act() {
                    return BatchEnd { handled, error: None };
                }
                if let Err(error) = self.process(context, state, record).await {
                    return BatchEnd { handled, error: Some(error) };
                }
            }
            BatchEnd { handled: records.len(), error: None }
        }
    }

    /// Takes fences where the effects are, under the context's epoch, before the rest of the log is read: what the old owner
    /// has done until then is in the log, and later it does nothing. It may come several times under the same epoch, and the
    /// epoch is only reserved: nothing but fences may be written.
    ///
    /// # Errors
    ///
    /// Anything; the partition does not begin, and this is tried again later. For *stop* and *fatal* see [above](Self).
    fn fence(&self, context: &PartitionContext) -> impl Future<Output = Result<(), RecordError>> + Send {
        let _ = context;
        async { Ok(()) }
    }

    /// The state has come as far as the old owner did; the first record is processed next.
    ///
    /// # Errors
    ///
    /// Anything; the partition does not begin, and this is tried again later. For *stop* and *fatal* see [above](Self).
    fn begin(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
    ) -> impl Future<Output = Result<(), RecordError>> + Send {
        let _ = (context, state);
        async { Ok(()) }
    }

    /// Records were removed before they could be read. Those of `gap` are in no state, and nobody processes them.
    ///
    /// # Errors
    ///
    /// Anything; the partition does not begin, and this is tried again later. For *stop* and *fatal* see [above](Self).
    fn gap(
        &self,
        partition: &TopicPartition,
        state: &mut Self::State,
        gap: Gap,
    ) -> impl Future<Output = Result<(), RecordError>> + Send {
        let _ = (partition, state, gap);
        async { Ok(()) }
    }

    /// The last record was handled, and its offset is committed next. The state is kept: where the move is cancelled,
    /// `begin` and more records follow.
    ///
    /// # Errors
    ///
    /// Anything; the partition is then not handed over, more records come, and this is tried again. After *stop* or *fatal* no more
    /// records come, see [above](Self), until the partition is granted under a higher epoch.
    fn drained(
        &self,
        context: &PartitionContext,
        state: &mut Self::State,
    ) -> impl Future<Output = Result<(), RecordError>> + Send {
        let _ = (context, state);
        async { Ok(()) }
    }

    /// Writes the state down, for [`open`](Self::open) to begin with. Called where a store for snapshots is given, between
    /// two records; `None` (the default) = there is nothing to keep.
    ///
    /// # Errors
    ///
    /// Anything; the snapshot before stays, and records go on. The state must be as it was. *Fatal* ends the consumer; no other
    /// remedy counts.
    fn snapshot(
        &self,
        partition: &TopicPartition,
        state: &Self::State,
    ) -> Result<Option<Bytes>, RecordError> {
        let _ = (partition, state);
        Ok(None)
    }

    /// The state is given up. `None` = it is gone already, with a call that was cut short.
    fn close(
        &self,
        partition: &TopicPartition,
        closing: Closing,
        state: Option<Self::State>,
    ) -> impl Future<Output = ()> + Send {
        let _ = (partition, closing, state);
        async {}
    }
}
