//! The model, exhausted within bounds.

mod broken;
mod shipped;

use std::time::Instant;

use kafka_assigner_model::{Bounds, Protocol};
use stateright::{Checker, Model};

/// A group of two partitions and two consumers on one instance, with room for a session of the second.
const SMALL: Bounds = Bounds {
    partitions: 2,
    names: 2,
    instances: 1,
    sessions: 1,
    crashes: 0,
    expiries: 0,
    twins: 0,
    leaves: 0,
    drains: 0,
    strays: 0,
    unknowns: 0,
    depositions: 0,
    deadlines: 0,
    failures: 0,
    reconnects: 0,
    spoils: 0,
};

/// Visits every state and prints how many there are.
fn explore(what: &str, protocol: Protocol) -> impl Checker<Protocol> {
    let began = Instant::now();
    let checker = protocol.checker().threads(2).spawn_bfs().join();
    println!(
        "{what}: {} states, {} of them new, {} deep, {:.1?}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        began.elapsed()
    );
    checker
}
