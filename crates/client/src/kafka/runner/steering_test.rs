//! Partitions that are paused, and that go on at another place.

use std::sync::atomic::{AtomicBool, Ordering};

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, StartPosition, StateSnapshot,
};
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::key::KeyHash;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, offset, partition};
use super::*;
use crate::kafka::held::PartitionPhase;
use crate::kafka::seeks::SeekError;
use crate::kafka::state_reads::StateReadError;

const GRANT: Grant = Grant { committed: None, start: None };
pub(super) const EPOCH: Epoch = Epoch(5);

/// Has each record in its state, and notes those that it processes.
#[derive(Clone, Default)]
pub(super) struct Noting {
    processed: Arc<Mutex<Vec<i64>>>,
    /// True if its states need no history.
    is_without_history: Arc<AtomicBool>,
}

impl Noting {
    pub(super) fn without_history() -> Self {
        Self { is_without_history: Arc::new(AtomicBool::new(true)), ..Self::default() }
    }

    fn taken(&self) -> Vec<i64> {
        std::mem::take(&mut *self.processed.lock().expect("no panic inside"))
    }

    /// Waits until the last record of the topic is processed, and returns those that were.
    pub(super) async fn to_the_end(&self) -> Vec<i64> {
        let last = || self.processed.lock().expect("no panic inside").last().copied();
        let all = async {
            while last() != Some(RECORDS - 1) {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, all).await.expect("the last record is processed");
        self.taken()
    }
}

impl RecordHandler for Noting {
    type State = Vec<i64>;

    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Self::State>, RecordError> {
        let is_without_history = self.is_without_history.load(Ordering::SeqCst);
        Ok(if is_without_history {
            OpenedState::without_history(Vec::new())
        } else {
            OpenedState::empty(Vec::new())
        })
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        state.push(record.offset().get());
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        state: &mut Self::State,
        record: &Record,
    ) -> Result<(), RecordError> {
        state.push(record.offset().get());
        self.processed.lock().expect("no panic inside").push(record.offset().get());
        Ok(())
    }
}

pub(super) struct Steered {
    broker: TestBroker,
    pub(super) handler: Noting,
    pub(super) runner: KafkaRunner<Noting>,
    pub(super) handle: RunnerHandle<Vec<i64>>,
    pub(super) owned: OwnedContext,
}

impl Steered {
    /// An owner that has begun; paused before if it is to be.
    pub(super) async fn begin(is_paused: bool) -> Self {
        let (broker, handler) = (TestBroker::start().await, Noting::default());
        let options = KafkaOptions::new(broker.servers(), "g");
        let runner = KafkaRunner::new(&options, handler.clone()).expect("valid options");
        let (handle, owned) = (runner.handle(), GRANT.owned());
        if is_paused {
            handle.pause(&partition(), EPOCH);
        }
        let steered = Self { broker, handler, runner, handle, owned };
        steered.assign().await;
        steered
    }

    async fn assign(&self) {
        self.runner.warm(&GRANT.warm()).await.expect("it is warm");
        self.runner.assigned(&self.owned).await.expect("it begins");
    }

    async fn seek(&self, to: i64) -> Result<Offset, SeekError> {
        self.handle.seek(&partition(), EPOCH, StartPosition::At(offset(to))).await
    }

    /// The state, as it is when each record that was there is in it.
    async fn state(&self) -> Vec<i64> {
        self.handle.read(&partition(), |state, _| state.clone()).await.expect("it is owned")
    }

    /// Has its state built anew, as the driver does for one that is spoiled.
    async fn build_anew(&mut self) {
        timeout(PATIENCE, self.owned.claim().ended()).await.expect("the state is of no use");
        self.runner.lost(&self.owned).await;
        self.owned = GRANT.owned();
        self.assign().await;
    }
}

fn from(first: i64) -> Vec<i64> {
    (first..RECORDS).collect()
}

#[tokio::test]
async fn a_paused_partition_begins_no_record_and_is_read_shown_and_drained() {
    let paused = Steered::begin(true).await;
    // It has begun, and answers between the records that it does not begin.
    assert_eq!(paused.state().await, [0_i64; 0]);
    let shown = &paused.handle.partitions()[0];
    assert_eq!((shown.phase, shown.epoch, shown.is_paused), (PartitionPhase::Owned, Some(EPOCH), true));
    assert_eq!((shown.processed, shown.committed), (Some(offset(0)), Some(offset(0))));
    assert_eq!(paused.runner.drain(&paused.owned).await.expect("it stops"), Some(offset(0)));
    assert_eq!(paused.handle.partitions()[0].phase, PartitionPhase::Drained);
    assert_eq!(paused.handler.taken(), [0_i64; 0]);
}

#[tokio::test]
async fn a_partition_that_is_resumed_goes_on_and_its_lag_is_shown() {
    let resumed = Steered::begin(true).await;
    crate::kafka::log_ends::look(&resumed.runner.parts.client, &resumed.runner.parts.watch.held).await;
    assert_eq!(resumed.handle.partitions()[0].lag(), Some(10));
    resumed.handle.resume(&partition(), EPOCH);
    assert_eq!(resumed.handler.to_the_end().await, from(0));
    resumed.runner.drain(&resumed.owned).await.expect("it stops");
    assert_eq!(resumed.broker.committed().0, RECORDS);
    resumed.runner.release(&partition()).await.expect("it is given up");
    assert_eq!(resumed.handle.partitions(), []);
}

#[tokio::test]
async fn going_back_processes_the_records_again_with_a_state_that_has_none_twice() {
    let mut back = Steered::begin(false).await;
    assert_eq!(back.handler.to_the_end().await, from(0));
    back.handle.pause(&partition(), EPOCH);
    assert_eq!(back.seek(3).await.expect("it is in the log"), offset(3));
    assert_eq!(back.broker.committed().0, 3, "every other owner would go on there as well");
    back.build_anew().await;
    assert_eq!(back.state().await, [0, 1, 2], "it is paused still");
    back.handle.resume(&partition(), EPOCH);
    assert_eq!(back.handler.to_the_end().await, from(3));
    assert_eq!(back.state().await, from(0));
}

#[tokio::test]
async fn going_forward_reads_what_is_between_into_the_state_only() {
    let forward = Steered::begin(true).await;
    assert_eq!(forward.seek(6).await.expect("it is in the log"), offset(6));
    assert_eq!(forward.broker.committed().0, 6);
    forward.handle.resume(&partition(), EPOCH);
    assert_eq!(forward.handler.to_the_end().await, from(6));
    assert_eq!(forward.state().await, from(0));
    assert_eq!(forward.runner.drain(&forward.owned).await.expect("it stops"), Some(offset(RECORDS)));
}

// The records in between are for no owner to process.
#[tokio::test]
async fn a_drain_before_the_place_is_reached_hands_over_at_the_place() {
    let forward = Steered::begin(true).await;
    assert_eq!(forward.seek(6).await.expect("it is in the log"), offset(6));
    assert_eq!(forward.runner.drain(&forward.owned).await.expect("it stops"), Some(offset(6)));
    let resumed = OwnedContext { resumed: true, ..GRANT.owned() };
    forward.handle.resume(&partition(), EPOCH);
    forward.runner.assigned(&resumed).await.expect("it goes on");
    assert_eq!(forward.handler.to_the_end().await, from(6));
    assert_eq!(forward.state().await, from(0));
}

#[tokio::test]
async fn nobody_but_the_owner_seeks_and_a_place_that_is_not_committed_changes_nothing() {
    let owner = Steered::begin(true).await;
    let stale = owner.handle.seek(&partition(), Epoch(4), StartPosition::Latest).await;
    assert!(matches!(stale, Err(SeekError::NotOwned { .. })), "{stale:?}");
    let nowhere = owner.handle.seek(&partition(), EPOCH, StartPosition::Refuse).await;
    assert!(matches!(nowhere, Err(SeekError::Kafka(_))), "{nowhere:?}");
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    owner.broker.refuse(RDKafkaApiKey::OffsetCommit, refused);
    let refused = owner.seek(7).await;
    assert!(matches!(refused, Err(SeekError::Kafka(KafkaRunnerError::Commit(_)))), "{refused:?}");
    owner.handle.resume(&partition(), EPOCH);
    assert_eq!(owner.handler.to_the_end().await, from(0));
    owner.runner.drain(&owner.owned).await.expect("it stops");
    assert_eq!(owner.broker.committed().0, RECORDS);
    let late = owner.seek(3).await;
    assert!(matches!(late, Err(SeekError::NotOwned { .. })), "{late:?}");
}

#[tokio::test]
async fn a_partition_without_new_records_is_read_and_goes_elsewhere_as_soon_as_it_is_owned() {
    let mut idle = Steered::begin(false).await;
    idle.handler.to_the_end().await;
    idle.runner.drain(&idle.owned).await.expect("it stops");
    idle.runner.release(&partition()).await.expect("it is given up");
    idle.owned = GRANT.owned();
    idle.assign().await;
    let state = timeout(PATIENCE, idle.state()).await.expect("nobody waits for a record");
    assert_eq!(state, from(0));
    let place = timeout(PATIENCE, idle.seek(9)).await.expect("nobody waits for a record");
    assert_eq!(place.expect("it is in the log"), offset(9));
}

#[tokio::test]
async fn a_drain_after_going_back_hands_over_at_the_place() {
    let back = Steered::begin(false).await;
    assert_eq!(back.handler.to_the_end().await, from(0));
    assert_eq!(back.seek(3).await.expect("it is in the log"), offset(3));
    assert_eq!(back.runner.drain(&back.owned).await.expect("it stops"), Some(offset(3)));
    assert_eq!(back.broker.committed().0, 3);
}

#[tokio::test]
async fn a_look_at_a_state_that_panics_is_its_callers_panic_and_the_partition_goes_on() {
    let looked_at = Steered::begin(false).await;
    let handle = looked_at.handle.clone();
    let look =
        tokio::spawn(
            async move { handle.read(&partition(), |_, _| panic!("a look")).await.map(|(): ()| ()) },
        );
    assert!(look.await.expect_err("it panics").is_panic());
    assert_eq!(looked_at.handler.to_the_end().await, from(0));
    assert_eq!(looked_at.state().await, from(0));
}

// The owner went back while this one was warm.
#[tokio::test]
async fn a_state_that_is_beyond_the_start_is_built_anew() {
    for is_without_history in [false, true] {
        beyond_the_start(is_without_history).await;
    }
}

async fn beyond_the_start(is_without_history: bool) {
    let mut next = Steered::begin(false).await;
    next.handler.is_without_history.store(is_without_history, Ordering::SeqCst);
    next.handler.to_the_end().await;
    next.runner.drain(&next.owned).await.expect("it stops");
    next.runner.release(&partition()).await.expect("it is given up");
    next.runner.warm(&GRANT.warm()).await.expect("it is warm");
    next.broker.commit("");
    assert!(next.runner.assigned(&next.owned).await.expect_err("it has too much").is::<Spoiled>());
    next.runner.lost(&next.owned).await;
    next.owned = GRANT.owned();
    next.assign().await;
    assert_eq!(next.handler.to_the_end().await, from(5));
}

#[tokio::test]
async fn a_partition_that_is_lost_with_a_record_that_fails_is_not_shown_any_more() {
    let owner = Steered::begin(true).await;
    let failing = &owner.runner.parts.watch.failing;
    let record = FailingPartition {
        partition: partition(),
        epoch: EPOCH,
        offset: offset(0),
        reason: "no disk".to_owned(),
        since_unix_ms: 0,
    };
    failing.failed(Instant::now(), record);
    owner.runner.lost(&owner.owned).await;
    assert_eq!(failing.shown(Instant::now() + Duration::from_secs(3_600)), []);
}

#[tokio::test]
async fn a_state_is_read_by_a_key_of_the_partition_and_by_no_other() {
    let steered = Steered::begin(true).await;
    let (at, hash) = (partition(), KeyHash::Crc32);
    let read =
        async |key: &[u8]| steered.handle.read_by_key(at.topic.as_str(), key, hash, |_, epoch| epoch).await;
    assert_eq!(read(b"a").await, Ok(EPOCH));
    let unknown = steered.handle.read_by_key("no topic", b"a", hash, |_, epoch| epoch).await;
    assert!(matches!(unknown, Err(StateReadError::PartitionsUnknown { .. })), "{unknown:?}");
    steered.runner.drain(&steered.owned).await.expect("it stops");
    steered.runner.release(&at).await.expect("it is given up");
    assert_eq!(read(b"a").await, Err(StateReadError::NotOwned(at.clone())));
}
