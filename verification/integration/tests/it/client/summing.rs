//! A handler that sums numbers up, and does as it is told.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kafka_assigner_client::TopicPartition;
use kafka_assigner_client::kafka::{
    Closing, Gap, OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record, RecordError,
    RecordHandler, StateSnapshot,
};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep, timeout};

use super::PATIENCE;

/// Puts what different handlers did into one order.
static TURN: AtomicU64 = AtomicU64::new(0);

/// What a handler did with one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    CaughtUp(u64),
    /// The number, and the sum of the state after it.
    Processed(u64, u64),
}

/// What happened to the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Assigned,
    Drained,
    Lost,
    /// Processing of a record has begun that never ends by itself.
    Hangs,
    /// It was cut.
    Cut,
    /// A call of `open` or of `begin` has begun that takes its time.
    Waits,
}

/// Sums the numbers up, and writes down what it did.
#[derive(Debug, Clone, Default)]
pub(super) struct Summing {
    pub(super) done: Arc<watch::Sender<Vec<Did>>>,
    pub(super) fates: Arc<watch::Sender<Vec<Fate>>>,
    /// The gaps that it was told, as the offsets from and to.
    pub(super) gaps: Arc<Mutex<Vec<(i64, i64)>>>,
    /// When each record was processed, as a place in the order of all handlers.
    pub(super) turns: Arc<Mutex<Vec<u64>>>,
    /// The last grant.
    pub(super) owned: Arc<Mutex<Option<PartitionContext>>>,
    /// When the first and the last record were processed.
    pub(super) span: Arc<Mutex<Option<(Instant, Instant)>>>,
    /// So many calls of `process` fail first.
    pub(super) failures: Arc<AtomicU32>,
    /// So many calls of `process` fail when they have changed the state.
    pub(super) late_failures: Arc<AtomicU32>,
    /// So many calls of `process` panic when they have changed the state.
    pub(super) late_panics: Arc<AtomicU32>,
    /// So many calls of `catch_up` fail first.
    pub(super) catch_up_failures: Arc<AtomicU32>,
    /// So many calls of `catch_up` panic first.
    pub(super) panics: Arc<AtomicU32>,
    /// So many calls of `process` never end.
    pub(super) hangs: Arc<AtomicU32>,
    /// So many calls of `drain` fail first.
    pub(super) drain_failures: Arc<AtomicU32>,
    /// The time that `open` takes.
    pub(super) opening: Arc<Mutex<Duration>>,
    /// The time that `begin` takes.
    pub(super) beginning: Arc<Mutex<Duration>>,
}

/// Tells when a call of `process` is dropped.
struct Hanging<'a>(&'a Summing);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.note(Fate::Cut);
    }
}

impl Summing {
    pub(super) async fn wait_for(&self, reached: impl FnMut(&Vec<Did>) -> bool) -> Vec<Did> {
        let mut done = self.done.subscribe();
        let done = timeout(PATIENCE, done.wait_for(reached)).await.expect("in time");
        done.expect("the sender lives").clone()
    }

    pub(super) async fn wait_for_number(&self, number: u64) -> Vec<Did> {
        self.wait_for(|done| matches!(done.last(), Some(Did::Processed(last, _)) if *last == number)).await
    }

    /// Waits until the last thing that happened to the partition is `fate`.
    pub(super) async fn wait_for_fate(&self, fate: Fate) -> Vec<Fate> {
        let mut fates = self.fates.subscribe();
        let reached = fates.wait_for(|fates| fates.last() == Some(&fate));
        let fates = timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("never {fate:?}"));
        fates.expect("the sender lives").clone()
    }

    /// Waits until the partition was lost, whatever has become of it since: it may be assigned again by the time that this
    /// is looked at.
    pub(super) async fn wait_for_loss(&self) {
        let mut fates = self.fates.subscribe();
        let lost = fates.wait_for(|fates| fates.contains(&Fate::Lost));
        timeout(PATIENCE, lost).await.expect("it is lost in time").expect("the sender lives");
    }

    /// Waits until the partition is assigned, and returns the grant.
    pub(super) async fn grant(&self) -> PartitionContext {
        self.wait_for_fate(Fate::Assigned).await;
        self.owned.lock().expect("no panic inside").clone().expect("it was assigned")
    }

    /// The numbers that were processed, in order.
    pub(super) fn processed(&self) -> Vec<u64> {
        let number = |did: &Did| match did {
            Did::Processed(number, _) => Some(*number),
            Did::CaughtUp(_) => None,
        };
        self.done.borrow().iter().filter_map(number).collect()
    }

    fn note(&self, fate: Fate) {
        self.fates.send_modify(|fates| fates.push(fate));
    }

    /// Takes the time of a call, and says so where there is any.
    async fn take(&self, time: &Mutex<Duration>) {
        let time = *time.lock().expect("no panic inside");
        if !time.is_zero() {
            self.note(Fate::Waits);
            sleep(time).await;
        }
    }
}

fn number(record: &Record) -> Result<u64, RecordError> {
    let text = std::str::from_utf8(record.value().unwrap_or_default()).unchanged()?;
    text.parse().unchanged()
}

/// Uses up one of `left`; false = there is none.
fn one_of(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl RecordHandler for Summing {
    type State = u64;

    async fn open(
        &self,
        _: &Preparation,
        snapshot: Option<StateSnapshot>,
    ) -> Result<OpenedState<u64>, RecordError> {
        self.take(&self.opening).await;
        let Some(snapshot) = snapshot else { return Ok(OpenedState::empty(0)) };
        let sum = std::str::from_utf8(&snapshot.bytes)?.parse()?;
        Ok(OpenedState::up_to(sum, snapshot.next_offset, snapshot.topic_id))
    }

    fn snapshot(&self, _: &TopicPartition, sum: &u64) -> Result<Option<Bytes>, RecordError> {
        Ok(Some(sum.to_string().into()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        state: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        assert!(!one_of(&self.panics), "on purpose");
        if one_of(&self.catch_up_failures) {
            return Err(RecordError::unchanged("not this time"));
        }
        let number = number(record)?;
        *state += number;
        self.done.send_modify(|done| done.push(Did::CaughtUp(number)));
        Ok(())
    }

    async fn gap(&self, _: &TopicPartition, _: &mut u64, gap: Gap) -> Result<(), RecordError> {
        self.gaps.lock().expect("no panic inside").push((gap.from.get(), gap.to.get()));
        Ok(())
    }

    async fn begin(&self, context: &PartitionContext, _: &mut u64) -> Result<(), RecordError> {
        self.take(&self.beginning).await;
        *self.owned.lock().expect("no panic inside") = Some(context.clone());
        self.note(Fate::Assigned);
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        state: &mut u64,
        record: &Record,
    ) -> Result<(), RecordError> {
        assert!(context.may_act());
        if one_of(&self.failures) {
            return Err(RecordError::unchanged("not this time"));
        }
        let number = number(record)?;
        *state += number;
        if one_of(&self.late_failures) {
            return Err(RecordError::new("after the state was changed"));
        }
        assert!(!one_of(&self.late_panics), "on purpose");
        if one_of(&self.hangs) {
            let _hanging = Hanging(self);
            self.note(Fate::Hangs);
            std::future::pending::<()>().await;
        }
        self.turns.lock().expect("no panic inside").push(TURN.fetch_add(1, Ordering::SeqCst));
        let now = Instant::now();
        self.span.lock().expect("no panic inside").get_or_insert((now, now)).1 = now;
        self.done.send_modify(|done| done.push(Did::Processed(number, *state)));
        Ok(())
    }

    async fn drained(&self, _: &PartitionContext, _: &mut u64) -> Result<(), RecordError> {
        self.note(Fate::Drained);
        if one_of(&self.drain_failures) { Err(RecordError::unchanged("not this time")) } else { Ok(()) }
    }

    async fn close(&self, _: &TopicPartition, closing: Closing, _: Option<u64>) {
        if closing == Closing::Lost {
            self.note(Fate::Lost);
        }
    }
}
