//! The state that the handles and the watches of one embedded store share.

use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_types::kv::Revision;
use tokio::time::Instant;

use super::engine::Engine;
use crate::error::Error;
use crate::signal::Signal;

/// The state that a watch reads without access to the engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tick {
    /// Everything up to here is settled, and durable where the store is.
    pub(crate) published: Revision,
    /// The moment at which expired leases have to be looked for.
    pub(crate) next_deadline: Option<Instant>,
    /// The reason for which the store refuses every call; `None` = it works.
    pub(crate) failed: Option<String>,
    /// Every handle of the store is dropped.
    pub(crate) closed: bool,
}

/// The engine behind its lock, and the signal after each change.
#[derive(Debug)]
pub(crate) struct SharedEngine {
    engine: Mutex<Engine>,
    ticks: Arc<Signal<Tick>>,
}

impl SharedEngine {
    pub(crate) fn new(engine: Engine) -> Self {
        let (published, next_deadline) = (engine.revision(), engine.next_deadline());
        let tick = Tick { published, next_deadline, ..Tick::default() };
        Self { engine: Mutex::new(engine), ticks: Arc::new(Signal::new(tick)) }
    }

    /// The engine; held for a moment only, never over an await or a write to disk.
    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().expect("no code under this lock panics")
    }

    pub(crate) fn ticks(&self) -> Arc<Signal<Tick>> {
        Arc::clone(&self.ticks)
    }

    /// Shows watches how far the engine has come, and wakes them where it concerns them.
    pub(crate) fn publish(&self, published: Revision, next_deadline: Option<Instant>) {
        self.ticks.update_if(|tick| {
            let earlier = next_deadline.is_some_and(|new| tick.next_deadline.is_none_or(|old| new < old));
            let woken = tick.published != published || earlier;
            tick.published = published;
            tick.next_deadline = next_deadline;
            woken
        });
    }

    /// Ends all watches and refuses every later call.
    pub(crate) fn fail(&self, why: &str) {
        self.ticks.update(|tick| tick.failed = Some(why.to_owned()));
    }

    /// Fails once the store has failed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.ticks.read(|tick| tick.failed.clone()).map_or(Ok(()), |why| Err(Error::File(why)))
    }
}

impl Drop for SharedEngine {
    fn drop(&mut self) {
        self.ticks.update(|tick| tick.closed = true);
    }
}
