//! One world from its seed to its verdict.

use std::time::Duration;

use tokio::runtime::Builder;

use crate::checker::{Violation, check};
use crate::coverage::Coverage;
use crate::driver::Driver;
use crate::history::{self, Entry, History};
use crate::hole::Hole;
use crate::world::World;

/// The options of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// True if everything that happens goes to standard output.
    pub trace: bool,
    /// A hole to be found.
    pub hole: Option<Hole>,
}

/// The outcome of a world.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Everything that must not have happened, by time.
    pub violations: Vec<Violation>,
    /// Counters of what occurred.
    pub coverage: Coverage,
    /// The time for which the world lasted, in its own time.
    pub lasted: Duration,
}

/// Runs the world `seed` and judges it. Nothing but the seed and `options` has any influence.
///
/// # Panics
/// If the code under test does, or the simulation itself is wrong.
#[must_use]
pub fn simulate(seed: u64, options: Options) -> Outcome {
    let (entries, world, lasted) = play(seed, options);
    let (violations, judged) = check(&entries, &world.layout, &world.shape);
    let coverage = Coverage::of(&entries, &world, &judged);
    Outcome { seed, violations, coverage, lasted }
}

/// A number that tells the histories of worlds apart, to the last byte: the same seed always gives the same. It takes
/// as long as a world without its verdict, and then some.
///
/// # Panics
/// As [`simulate`].
#[must_use]
pub fn fingerprint(seed: u64, options: Options) -> u64 {
    history::fingerprint(&play(seed, options).0)
}

/// Everything that happens in the world `seed`, with what is left of it, and how long it lasted.
fn play(seed: u64, options: Options) -> (Vec<Entry>, World, Duration) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing of the system");
    runtime.block_on(async {
        let history = History::start(options.trace);
        let world = World::new(seed, history.clone(), options.hole);
        let world = Driver::new(world, seed).run().await;
        let lasted = history.now();
        (history.take(), world, lasted)
    })
}
