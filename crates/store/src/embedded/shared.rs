//! What the handles and the watches of one embedded store have in common.

use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_types::kv::Revision;
use tokio::time::Instant;

use super::engine::Engine;
use crate::Error;
use crate::signal::Signal;

/// What a watch has to know without looking at the engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tick {
    /// Everything up to here is settled, and durable where the store is.
    pub(crate) published: Revision,
    /// When somebody has to look for ended leases.
    pub(crate) next_deadline: Option<Instant>,
    /// Why the store takes nothing any more.
    pub(crate) failed: Option<String>,
    /// Whether every handle of the store is gone.
    pub(crate) closed: bool,
}

/// The engine behind its lock, and the word that goes out after each change.
#[derive(Debug)]
pub(crate) struct Shared {
    engine: Mutex<Engine>,
    ticks: Arc<Signal<Tick>>,
}

impl Shared {
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

impl Drop for Shared {
    fn drop(&mut self) {
        self.ticks.update(|tick| tick.closed = true);
    }
}
