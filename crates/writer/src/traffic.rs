//! Callers that ask the routers all the time, each one request after the other.

use std::collections::BTreeSet;
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_audit::Micros;
use kafka_assigner_audit::requests::{Acknowledged, Asked, Failed};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Failure};
use crate::message::Request;

/// Keys of each caller, which are its own: enough that every partition has some of several callers.
const KEYS: u64 = 16;

/// The wait of a caller before it repeats a request that failed.
const AGAIN: Duration = Duration::from_millis(50);

/// The time for which a request may be repeated. A dead writer's partitions take a quarter of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of callers and their rate.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The number of callers, at least 1.
    pub callers: u32,
    /// The time from one request of a caller to its next; a longer one where the answer takes longer.
    pub interval: Duration,
    /// The most requests of a caller; none = as many as fit into the time.
    pub most: Option<u64>,
    /// The clock by which all is noted.
    pub now: fn() -> Micros,
}

/// The number of requests that were acknowledged so far; clones share it.
#[derive(Debug, Clone)]
pub struct Meter(Notes);

impl Meter {
    /// The number of requests that were acknowledged so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.0.count.load(Ordering::Relaxed)
    }
}

/// The requests so far; clones share them.
#[derive(Debug, Clone)]
struct Notes(Arc<TrafficState>);

#[derive(Debug)]
struct TrafficState {
    now: fn() -> Micros,
    asked: Mutex<Asked>,
    count: AtomicU64,
}

impl Notes {
    fn now(&self) -> Micros {
        (self.0.now)()
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Callers that ask until they are stopped.
#[derive(Debug)]
pub struct Traffic {
    notes: Notes,
    stop: CancellationToken,
    callers: JoinSet<Result<()>>,
    routers: watch::Receiver<Vec<SocketAddr>>,
}

impl Traffic {
    /// Starts callers that ask the routers of the moment, once there are any.
    #[must_use]
    pub fn start(routers: &watch::Receiver<Vec<SocketAddr>>, pace: Pace) -> Self {
        let shared = TrafficState { now: pace.now, asked: Mutex::default(), count: AtomicU64::new(0) };
        let (notes, stop) = (Notes(Arc::new(shared)), CancellationToken::new());
        let mut callers = JoinSet::new();
        for place in 0..pace.callers {
            callers.spawn(call(pace, place, routers.clone(), notes.clone(), stop.clone()));
        }
        Self { notes, stop, callers, routers: routers.clone() }
    }

    /// The number of requests that were acknowledged so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.meter().count()
    }

    /// Tells how far it is.
    #[must_use]
    pub fn meter(&self) -> Meter {
        Meter(self.notes.clone())
    }

    /// Stops when everything is answered, and then asks for every counter.
    ///
    /// # Errors
    ///
    /// A request that was not acknowledged within a minute, or a counter that can't be read.
    pub async fn stop(mut self) -> Result<Asked> {
        self.stop.cancel();
        while let Some(caller) = self.callers.join_next().await {
            caller.context("a caller failed")??;
        }
        let mut asked = mem::take(&mut *self.notes.asked());
        let mut reader = Caller::new("reader".to_owned(), self.routers, 0);
        let keys: BTreeSet<String> = asked.acknowledged.iter().map(|request| request.key.clone()).collect();
        for key in keys {
            let request = reader.request(&key, None);
            let total = reader.send(&request).await.with_context(|| format!("{key} can't be read"))?;
            asked.totals.insert(key, total);
        }
        Ok(asked)
    }
}

/// One of them. Numbers are unique in the whole run, so that they are ids.
async fn call(
    pace: Pace,
    place: u32,
    mut routers: watch::Receiver<Vec<SocketAddr>>,
    notes: Notes,
    stop: CancellationToken,
) -> Result<()> {
    let name = format!("caller-{place}");
    routers.wait_for(|routers| !routers.is_empty()).await?;
    let mut caller = Caller::new(name.clone(), routers, usize::try_from(place)?);
    // Not all at the same moment.
    sleep(pace.interval * place / pace.callers).await;
    let mut ticks = interval(pace.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for round in 0..pace.most.unwrap_or(u64::MAX) {
        tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // The next request is due.
            _ = ticks.tick() => {}
        }
        let number = round * u64::from(pace.callers) + u64::from(place) + 1;
        let request = caller.numbered(number, format!("{name}-{}", round % KEYS), Some(1));
        let asked = timeout(PATIENCE, ask(&mut caller, &request, &notes)).await;
        asked.with_context(|| format!("{request:?} was not acknowledged"))?;
    }
    Ok(())
}

/// Asks until it is acknowledged.
async fn ask(caller: &mut Caller, request: &Request, notes: &Notes) {
    let begun = notes.now();
    loop {
        match caller.send(request).await {
            Ok(total) => return notes.acknowledge(request, total, begun),
            Err(failure) => notes.fail(request, &failure, begun),
        }
        sleep(AGAIN).await;
    }
}

impl Notes {
    fn acknowledge(&self, request: &Request, total: u64, begun: u64) {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        let Request { caller, number, key, .. } = request.clone();
        self.asked().acknowledged.push(Acknowledged { caller, number, key, total, begun, ended: self.now() });
    }

    fn fail(&self, request: &Request, failure: &Failure, begun: u64) {
        let why = format!("{} of {}: {failure}", request.number, request.caller);
        self.asked().failed.push(Failed { begun, ended: self.now(), why });
    }
}
