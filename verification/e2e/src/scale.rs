//! The amount of work of a run, and the result that it must have.

use std::time::Duration;

/// How long a dead leader leads on. The shortest that a loaded machine of two cores keeps alive reliably.
pub(crate) const LEADER_TTL: Duration = Duration::from_secs(3);

/// How long a dead consumer keeps its partitions.
pub(crate) const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// What a sum of settings may be exceeded by: everything that a machine takes on top.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// How many partitions move at once. Each is read whole before it moves, and on a machine of two cores, which the broker
/// shares, more of them at a time slow down every partition, also those that stay.
pub(crate) const MOVES_IN_FLIGHT: u32 = 4;

/// How much a run does.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Partitions of the topic.
    pub(crate) partitions: i32,
    /// The time between two records of one partition.
    pub(crate) interval: Duration,
    /// Rounds of the story are played until so many records were produced…
    pub(crate) records: u64,
    /// …or, in the mode routed, so many requests were acknowledged…
    pub(crate) requests: u64,
    /// …and so many moves were planned and completed.
    pub(crate) planned_moves: usize,
    /// The most rounds: several times what it takes.
    pub(crate) rounds: usize,
}

/// Two rounds, a minute and a half.
pub(crate) const FULL: Scale = Scale {
    partitions: 32,
    interval: Duration::from_millis(10),
    records: 200_000,
    requests: 50_000,
    planned_moves: 100,
    rounds: 6,
};

/// One round.
pub(crate) const SHORT: Scale = Scale {
    partitions: 16,
    interval: Duration::from_millis(20),
    records: 15_000,
    requests: 5_000,
    planned_moves: 10,
    rounds: 3,
};
