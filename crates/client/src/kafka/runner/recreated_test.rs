//! A topic that was deleted and created again: what was kept or committed for the former one does not count.

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, StateSnapshot,
};
use kafka_assigner_types::topic_id::TopicId;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::test_broker::{Grant, PATIENCE, RECORDS, TestBroker, id, offset};
use super::*;

/// Begins with what it was given, and notes the offsets that it handled.
struct Noting {
    opened: OpenedState<Vec<i64>>,
    handled: Arc<Mutex<Vec<i64>>>,
    ended: Arc<Notify>,
}

impl RecordHandler for Noting {
    type State = Vec<i64>;

    async fn open(
        &self,
        preparation: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Vec<i64>>, RecordError> {
        Ok(if preparation.is_anew { OpenedState::empty(Vec::new()) } else { self.opened.clone() })
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut Vec<i64>,
        record: &Record,
    ) -> Result<(), RecordError> {
        state.push(record.offset().get());
        Ok(())
    }

    async fn process(
        &self,
        _: &PartitionContext,
        state: &mut Vec<i64>,
        record: &Record,
    ) -> Result<(), RecordError> {
        let offset = record.offset().get();
        state.push(offset);
        // Each record is in the state once, and in its order.
        assert!(state.is_sorted_by(|a, b| a < b), "{state:?}");
        self.handled.lock().expect("no panic inside").push(offset);
        if offset == RECORDS - 1 {
            self.ended.notify_one();
        }
        Ok(())
    }
}

/// The offsets that are handled under `grant` by a handler that begins with a state up to 5, of this topic.
async fn handled(grant: Grant, opened: Option<Option<TopicId>>) -> Vec<i64> {
    let broker = TestBroker::start().await;
    grant.committed.into_iter().for_each(|metadata| broker.commit(metadata));
    let opened = match opened {
        Some(topic_id) => OpenedState::up_to((0..5).collect(), offset(5), topic_id),
        None => OpenedState::empty(Vec::new()),
    };
    let (handled, ended) = (Arc::<Mutex<Vec<i64>>>::default(), Arc::<Notify>::default());
    let handler = Noting { opened, handled: handled.clone(), ended: ended.clone() };
    let options = KafkaOptions::new(broker.servers(), "g");
    let runner = KafkaRunner::new(&options, handler).expect("valid options");
    let owned = grant.owned();
    runner.warm(&grant.warm()).await.expect("it is warm");
    runner.assigned(&owned).await.expect("it begins");
    timeout(PATIENCE, ended.notified()).await.expect("the last record is handled");
    runner.drain(&owned).await.expect("it stops");
    assert_eq!(broker.committed(), (RECORDS, "epoch=5 topic_id=CAgICAgICAgICAgICAgICA".to_owned()));
    handled.lock().expect("no panic inside").clone()
}

const OF_THE_FORMER: &str = "epoch=3 topic_id=BwcHBwcHBwcHBwcHBwcHBw";
const OF_THIS: &str = "epoch=3 topic_id=CAgICAgICAgICAgICAgICA";

fn from(first: i64) -> Vec<i64> {
    (first..RECORDS).collect()
}

#[tokio::test]
async fn an_offset_that_was_committed_in_a_former_topic_does_not_count() {
    let committed = |metadata| Grant { committed: Some(metadata), start: None };
    assert_eq!(handled(committed(OF_THE_FORMER), None).await, from(0), "its id says so");
    assert_eq!(handled(committed(OF_THIS), None).await, from(5), "it is of this topic");
    for unknown in ["epoch=3", ""] {
        assert_eq!(handled(committed(unknown), None).await, from(5), "{unknown:?} says nothing of a topic");
    }
}

#[tokio::test]
async fn a_start_that_was_told_gives_way_to_what_is_committed_in_this_topic() {
    let grant = |metadata, start| Grant { committed: Some(metadata), start: Some(start) };
    assert_eq!(handled(grant(OF_THIS, 0), None).await, from(5), "it is new to the service alone");
    assert_eq!(handled(grant(OF_THIS, 3), None).await, from(5), "the service has an old note");
    assert_eq!(handled(grant(OF_THIS, 7), None).await, from(7), "the last commit has failed");
    for other in [OF_THE_FORMER, "epoch=3", ""] {
        assert_eq!(handled(grant(other, 0), None).await, from(0), "{other:?}");
    }
}

#[tokio::test]
async fn a_state_of_a_former_topic_skips_nothing_of_the_new_one() {
    let grant = |start| Grant { committed: None, start };
    for start in [Some(0), None] {
        assert_eq!(handled(grant(start), Some(id(7))).await, from(0), "{start:?}");
        assert_eq!(handled(grant(start), Some(id(8))).await, from(5), "{start:?}: it is of this topic");
    }
    assert_eq!(
        handled(grant(Some(0)), Some(None)).await,
        from(0),
        "nobody has handled anything of this topic"
    );
    assert_eq!(handled(grant(None), Some(None)).await, from(5), "as of a topic whose id is not known");
}

#[tokio::test]
async fn a_state_that_says_how_far_it_is_goes_on_there_where_the_committed_offset_is_gone() {
    let (broker, grant) = (TestBroker::start().await, Grant { committed: None, start: None });
    let opened = OpenedState::up_to((0..5).collect(), offset(5), id(8));
    let (handled, ended) = (Arc::<Mutex<Vec<i64>>>::default(), Arc::<Notify>::default());
    let handler = Noting { opened, handled: handled.clone(), ended: ended.clone() };
    let runner = KafkaRunner::new(&KafkaOptions::new(broker.servers(), "g"), handler).expect("valid options");
    runner.warm(&grant.warm()).await.expect("it is warm");
    let owned = OwnedContext { was_committed: true, ..grant.owned() };
    runner.assigned(&owned).await.expect("it begins");
    timeout(PATIENCE, ended.notified()).await.expect("the last record is handled");
    assert_eq!(*handled.lock().expect("no panic inside"), from(5));
}
