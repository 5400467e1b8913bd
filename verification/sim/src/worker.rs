//! The work of a consumer with its partitions: it takes its time, and opens them at its desk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{
    HandlerError, Offset, OwnedContext, PartitionHandler, ReservedContext, TopicPartition, WarmContext,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use crate::desk::Desk;
use crate::fault::Fault;
use crate::floor::Floor;
use crate::history::{History, Why};
use crate::ice::Ice;

/// A warm-up that does not end is given up by whoever looks after the process, after this time.
const NEVER: Duration = Duration::from_secs(20);

/// How a warm-up goes.
enum Fate {
    Takes(Duration),
    Fails(Duration),
    NeverEnds,
}

/// How the handlers of one process behave; shared with whoever plagues them.
#[derive(Debug)]
pub(crate) struct Temper {
    mood: Mutex<Mood>,
    /// True if partitions are given up without being handed over.
    leaves_alone: AtomicBool,
}

#[derive(Debug)]
struct Mood {
    dice: StdRng,
    failing: u32,
    hanging: u32,
}

impl Temper {
    pub(crate) fn new(seed: u64) -> Self {
        let mood = Mood { dice: StdRng::seed_from_u64(seed), failing: 0, hanging: 0 };
        Self { mood: Mutex::new(mood), leaves_alone: AtomicBool::new(false) }
    }

    /// The next warm-ups for handoffs fail.
    pub(crate) fn fail(&self, times: u32) {
        self.mood().failing = times;
    }

    /// The next warm-ups for handoffs never end.
    pub(crate) fn hang(&self, times: u32) {
        self.mood().hanging = times;
    }

    /// From now on nothing goes wrong.
    pub(crate) fn calm(&self) {
        (self.mood().failing, self.mood().hanging) = (0, 0);
    }

    /// From now on partitions are given up without being handed over.
    pub(crate) fn leave_alone(&self) {
        self.leaves_alone.store(true, Ordering::SeqCst);
    }

    fn warm(&self, for_handoff: bool) -> Fate {
        let mut mood = self.mood();
        let longest = if for_handoff { 1_500 } else { 600 };
        let span = Duration::from_millis(mood.dice.random_range(20..=longest));
        if for_handoff && mood.failing > 0 {
            mood.failing -= 1;
            return Fate::Fails(span);
        }
        if for_handoff && mood.hanging > 0 {
            mood.hanging -= 1;
            return Fate::NeverEnds;
        }
        Fate::Takes(span)
    }

    /// No offset is said twice, so that it tells who said it.
    fn next_offset(&self) -> Offset {
        Offset::new(self.mood().dice.random_range(1..=i64::MAX)).expect("above 0")
    }

    fn millis(&self, longest: u64) -> Duration {
        Duration::from_millis(self.mood().dice.random_range(0..=longest))
    }

    fn mood(&self) -> MutexGuard<'_, Mood> {
        self.mood.lock().expect("nothing panics while it holds the mood")
    }
}

/// The handler of one process.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) process: u32,
    pub(crate) consumer: Arc<str>,
    pub(crate) ice: Ice,
    pub(crate) floor: Floor,
    pub(crate) desk: Desk,
    pub(crate) temper: Arc<Temper>,
    pub(crate) history: History,
}

impl Worker {
    async fn build(&self, context: &WarmContext) -> Result<(), HandlerError> {
        match self.temper.warm(context.current_owner().is_some()) {
            Fate::Takes(span) => {
                report(context, span).await;
                Ok(())
            }
            Fate::Fails(span) => {
                self.plague(Fault::WarmFails, context, span);
                sleep(span).await;
                Err("the warm-up was made to fail".into())
            }
            Fate::NeverEnds => {
                self.plague(Fault::WarmNeverEnds, context, NEVER);
                sleep(NEVER).await;
                Err("the warm-up was given up".into())
            }
        }
    }

    fn plague(&self, fault: Fault, context: &WarmContext, span: Duration) {
        self.history.happened(fault, format!("{} {}", self.consumer, context.partition()));
        self.history.excuse(&self.consumer, span);
    }
}

async fn report(context: &WarmContext, span: Duration) {
    for step in 1..=4 {
        sleep(span / 4).await;
        context.report(step, Some(4));
    }
}

#[async_trait]
impl PartitionHandler for Worker {
    async fn warm(&self, context: &WarmContext) -> Result<(), HandlerError> {
        let building = async {
            tokio::select! {
                biased;
                // Nobody wants it any more.
                () = context.cancelled() => Err("not wanted any more".into()),
                built = self.build(context) => built,
            }
        };
        self.ice.run(building).await
    }

    async fn reserved(&self, context: &ReservedContext) -> Result<(), HandlerError> {
        self.ice.run(sleep(self.temper.millis(20))).await;
        self.desk.read(self.process, context.partition().clone(), context.epoch());
        Ok(())
    }

    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.ice.run(sleep(self.temper.millis(40))).await;
        let at = context.partition().clone();
        self.floor.begin(self.process, &self.consumer, at.clone(), context);
        self.desk.own(self.process, at, context);
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        self.ice.run(sleep(self.temper.millis(150))).await;
        let alone = self.temper.leaves_alone.load(Ordering::SeqCst);
        let why = if alone { Why::Left } else { Why::Drained };
        let (at, offset) = (context.partition().clone(), self.temper.next_offset());
        self.floor.end(self.process, &at, why);
        self.floor.stop(self.process, &at, offset);
        Ok(Some(offset))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.ice.run(sleep(self.temper.millis(20))).await;
        self.desk.drop_state(self.process, partition);
        Ok(())
    }

    async fn lost(&self, context: &OwnedContext) {
        let at = context.partition().clone();
        self.floor.end(self.process, &at, Why::Lost);
        self.desk.drop_state(self.process, &at);
    }
}
