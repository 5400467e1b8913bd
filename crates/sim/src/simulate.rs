//! One world from its seed to its verdict.

use std::time::Duration;

use tokio::runtime::Builder;

use crate::checker::{Violation, check};
use crate::coverage::Coverage;
use crate::driver::Driver;
use crate::history::{History, fingerprint};
use crate::hole::Hole;
use crate::world::World;

/// How a world is run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether everything that happens goes to standard output.
    pub trace: bool,
    /// A hole to be found.
    pub hole: Option<Hole>,
}

/// What became of a world.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// What must not have happened, by time.
    pub violations: Vec<Violation>,
    /// A number that tells histories apart: the same seed always gives the same.
    pub fingerprint: u64,
    /// What occurred.
    pub coverage: Coverage,
    /// How long the world lasted, in its own time.
    pub lasted: Duration,
}

/// Runs the world `seed` and judges it. Nothing but the seed and `options` has any influence.
///
/// # Panics
/// Where the code under test does, or the simulation itself is wrong.
#[must_use]
pub fn simulate(seed: u64, options: Options) -> Outcome {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing of the system");
    let (history, world) = runtime.block_on(async {
        let history = History::start(options.trace);
        let world = World::new(seed, history.clone(), options.hole);
        let world = Driver::new(world, seed).run().await;
        (history, world)
    });
    let lasted = runtime.block_on(async { history.now() });
    let entries = history.take();
    let coverage = Coverage::of(&entries, &world);
    let violations = check(&entries, &world.layout, &world.shape);
    Outcome { seed, violations, fingerprint: fingerprint(&entries), coverage, lasted }
}
