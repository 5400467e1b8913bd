//! The work of a consumer with its partitions: it takes its time, and opens them at its desk.

use std::ops::RangeInclusive;
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
use crate::shift::Shift;

/// A warm-up that does not end is given up by whoever looks after the process, after this time.
const NEVER: Duration = Duration::from_secs(20);

/// A record that takes longer than each deadline of a world: 15 s, for a drain.
const SLOW_MS: RangeInclusive<u64> = 16_000..=40_000;

/// The course of a warm-up.
enum Fate {
    Takes(Duration),
    Fails(Duration),
    NeverEnds,
}

/// The behaviour of the handlers of one process; shared with whoever plagues them.
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
    starting_slowly: u32,
    draining_slowly: u32,
    long_records: u32,
}

impl Temper {
    pub(crate) fn new(seed: u64) -> Self {
        let dice = StdRng::seed_from_u64(seed);
        let mood =
            Mood { dice, failing: 0, hanging: 0, starting_slowly: 0, draining_slowly: 0, long_records: 0 };
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

    /// The next partitions begin with a record that takes longer than every deadline.
    pub(crate) fn start_slowly(&self, times: u32) {
        self.mood().starting_slowly = times;
    }

    /// The next partitions that are to stop have a record in the works that takes longer than every deadline.
    pub(crate) fn drain_slowly(&self, times: u32) {
        self.mood().draining_slowly = times;
    }

    /// The next records take longer than every deadline.
    pub(crate) fn take_long(&self, times: u32) {
        self.mood().long_records = times;
    }

    /// From now on nothing goes wrong.
    pub(crate) fn calm(&self) {
        let mut mood = self.mood();
        (mood.failing, mood.hanging) = (0, 0);
        (mood.starting_slowly, mood.draining_slowly, mood.long_records) = (0, 0, 0);
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

    /// The time that it takes to begin, and whether that is longer than it should.
    fn start(&self) -> (Duration, bool) {
        let mut mood = self.mood();
        let is_slow = strike(&mut mood.starting_slowly);
        (span(&mut mood.dice, is_slow, 40), is_slow)
    }

    /// The time that it takes to stop, and whether that is longer than it should.
    fn stop(&self) -> (Duration, bool) {
        let mut mood = self.mood();
        let is_slow = strike(&mut mood.draining_slowly);
        (span(&mut mood.dice, is_slow, 150), is_slow)
    }

    /// The time that the next record takes, and whether that is longer than it should.
    pub(crate) fn record(&self) -> (Duration, bool) {
        let mut mood = self.mood();
        let is_long = strike(&mut mood.long_records);
        (span(&mut mood.dice, is_long, 300), is_long)
    }

    /// The time until there is another record.
    pub(crate) fn between_records(&self) -> Duration {
        Duration::from_millis(self.mood().dice.random_range(2_000..=15_000))
    }

    fn millis(&self, longest: u64) -> Duration {
        Duration::from_millis(self.mood().dice.random_range(0..=longest))
    }

    fn mood(&self) -> MutexGuard<'_, Mood> {
        self.mood.lock().expect("nothing panics while it holds the mood")
    }
}

/// One time less; true if there was one left.
const fn strike(times: &mut u32) -> bool {
    let is_left = *times > 0;
    *times = times.saturating_sub(1);
    is_left
}

/// At most `longest_ms`, or past the longest of a world's deadlines.
fn span(dice: &mut StdRng, is_slow: bool, longest_ms: u64) -> Duration {
    let millis = if is_slow { SLOW_MS } else { 0..=longest_ms };
    Duration::from_millis(dice.random_range(millis))
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
    /// The records on which owners work besides, where requests are held back.
    pub(crate) shift: Option<Shift>,
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
        self.happened(fault, context.partition());
        self.history.excuse(&self.consumer, span);
    }

    fn happened(&self, fault: Fault, at: &TopicPartition) {
        self.history.happened(fault, format!("{} {at}", self.consumer));
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
        self.floor.prepare(self.process, context.partition(), context.start_offset().is_some());
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
        let at = context.partition().clone();
        let (span, is_slow) = self.temper.start();
        if is_slow {
            self.happened(Fault::SlowFirstRecord, &at);
            // Nobody may take from it what it was granted without a handoff.
            self.history.excuse(&self.consumer, span);
        }
        self.ice.run(sleep(span)).await;
        self.floor.begin(self.process, &self.consumer, at.clone(), context);
        self.desk.own(self.process, at, context);
        self.shift.iter().for_each(|shift| shift.begin(context));
        Ok(())
    }

    async fn drain(&self, context: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        let (span, is_slow) = self.temper.stop();
        if is_slow {
            self.happened(Fault::SlowDrain, context.partition());
            // Requests wait until the move is called off. In `overlap` it has given nothing up until it has stopped: past
            // the deadline for that it is fenced of the partition, and keeps the others. Of a set it loses all parts.
            self.history.excuse_requests(span);
            self.history.excuse(&self.consumer, span);
        }
        self.ice.run(sleep(span)).await;
        if let Some(shift) = &self.shift {
            self.ice.run(shift.finish(context.partition())).await;
        }
        let alone = self.temper.leaves_alone.load(Ordering::SeqCst);
        let why = if alone { Why::Left } else { Why::Drained };
        self.floor.end(self.process, context.partition(), why);
        Ok(Some(self.floor.stop(self.process, context)))
    }

    async fn release(&self, partition: &TopicPartition) -> Result<(), HandlerError> {
        self.ice.run(sleep(self.temper.millis(20))).await;
        self.desk.drop_state(self.process, partition);
        Ok(())
    }

    async fn lost(&self, context: &OwnedContext) {
        let at = context.partition().clone();
        self.shift.iter().for_each(|shift| shift.cut(&at));
        self.floor.end(self.process, &at, Why::Lost);
        self.desk.drop_state(self.process, &at);
    }
}
