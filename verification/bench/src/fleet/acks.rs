//! The times of acknowledgements.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::join_all;
use kafka_assigner_store::Store as _;
use kafka_assigner_types::kv::{Op, Txn};
use tokio::time::{MissedTickBehavior, interval, interval_at};

use super::load::{Fleet, TOPIC};
use crate::consumer::Acknowledging;
use crate::instance::open;
use crate::stopwatch::{ms, percentile};

/// One acknowledgement of a caller after the other, no more often than this: ten times as often as a calm group has any.
const ACK_EVERY: Duration = Duration::from_millis(50);

/// The callers at a time: members of a group that moves acknowledge together, and each waits for another revision.
const CALLERS: u32 = 4;

/// The small writes of somebody else, as another tenant of the etcd.
const WRITE_EVERY: Duration = Duration::from_millis(20);

/// The key of these writes, which no instance of ours reads.
const ELSEWHERE: &str = "/elsewhere/counter";

/// The acknowledgements of one series.
#[derive(Debug, Default)]
pub(super) struct Acks {
    times: Vec<Duration>,
    /// The number of those that were refused.
    pub(super) refused: usize,
    /// The writes beside them in a second.
    pub(super) writes_per_s: f64,
}

impl Acks {
    /// Takes the times of acknowledgements of several callers for `span`.
    pub(super) async fn take(fleet: &Fleet, span: Duration) -> Self {
        let one = |number| Self::of_one(fleet.acknowledging.clone(), number * ACK_EVERY / CALLERS, span);
        let mut all = Self::default();
        for acks in join_all((0..CALLERS).map(one)).await {
            all.times.extend(acks.times);
            all.refused += acks.refused;
        }
        all
    }

    async fn of_one(mut caller: Acknowledging, after: Duration, span: Duration) -> Self {
        let (mut acks, begin) = (Self::default(), Instant::now());
        let mut ticks = interval_at((begin + after).into(), ACK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while begin.elapsed() < span {
            ticks.tick().await;
            let start = Instant::now();
            match caller.late_ready(TOPIC).await {
                Ok(()) => acks.times.push(start.elapsed()),
                Err(_) => acks.refused += 1,
            }
        }
        acks
    }

    /// The same while somebody else writes to the same etcd.
    pub(super) async fn beside_writes(fleet: &Fleet, span: Duration, etcd: &str) -> Result<Self> {
        let (mut written, begin) = (0, Instant::now());
        let taken = tokio::select! {
            taken = Self::take(fleet, span) => taken,
            error = write(etcd, &mut written) => return Err(error),
        };
        Ok(Self { writes_per_s: f64::from(written) / begin.elapsed().as_secs_f64(), ..taken })
    }

    /// The time within which so many percent of them were answered, in milliseconds.
    pub(super) fn within(&self, percent: usize) -> f64 {
        ms(percentile(&self.times, percent))
    }
}

/// Writes until it is dropped; returns only where that fails.
async fn write(etcd: &str, written: &mut u32) -> anyhow::Error {
    let store = match open(etcd) {
        Ok(store) => store,
        Err(error) => return error,
    };
    let mut ticks = interval(WRITE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let put = Op::put(ELSEWHERE, written.to_string());
        if let Err(error) = store.txn(Txn::guarded(Vec::new(), vec![put])).await {
            return error.into();
        }
        *written += 1;
    }
}
