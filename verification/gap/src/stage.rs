//! The course of one group.

use std::time::Duration;

use crate::event::Event;

/// The events of one group, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The name of the stage in the names of groups and files.
    pub(crate) name: &'static str,
    /// In this order; all times of one event together have one row.
    pub(crate) events: &'static [Event],
    pub(crate) size: Size,
    /// The time that the state of a partition takes to rebuild; zero where there is none.
    pub(crate) rebuild: Duration,
    /// True if members come back under their names, and their partitions are kept for them: static members of Kafka.
    pub(crate) keeps_names: bool,
}

/// The size of a group, and its load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Members at the beginning.
    pub(crate) members: usize,
    /// Partitions of its topic.
    pub(crate) partitions: i32,
    /// The time between two records of one partition.
    pub(crate) interval: Duration,
}

/// The size of most groups. A broker that shares two cores with everything else spends one of them on so many records of
/// a hundred partitions; then each partition waits for it all the time, and the wait is taken for a gap.
const USUAL: Size = Size { members: 4, partitions: 60, interval: Duration::from_millis(10) };

/// Everybody has a hundred; about as many records a second as usual.
const HUNDREDS: Size = Size { members: 3, partitions: 300, interval: Duration::from_millis(50) };

/// Many members with many partitions; fewer records than usual, since each is a batch of its own to the broker.
const LARGE: Size = Size { members: 10, partitions: 900, interval: Duration::from_millis(200) };

const STATELESS: Duration = Duration::ZERO;

/// Before anything is measured: a broker that has just started takes its time for the first million records.
pub(crate) const REHEARSAL: Stage = Stage {
    name: "rehearsal",
    events: &[Event::Join, Event::Leave],
    size: USUAL,
    rebuild: STATELESS,
    keeps_names: false,
};

/// For a run with little time. Everything three times: with Kafka's protocols a move waits for the next heartbeat of
/// whoever has not heard of it, which comes at any time within 3 or 5 s, so one join alone tells little.
pub(crate) const QUICK: &[Stage] = &[Stage {
    name: "quick",
    events: &[Event::Join, Event::Leave, Event::Join, Event::Leave, Event::Join, Event::Leave],
    size: USUAL,
    rebuild: STATELESS,
    keeps_names: false,
}];

/// For a whole run. A kill leaves one member less than there were, so it is last. Rolling joins and leaves four times.
pub(crate) const FULL: &[Stage] = &[
    Stage {
        name: "stateless",
        events: &[Event::Join, Event::Leave, Event::RollNewNames, Event::Kill],
        size: USUAL,
        rebuild: STATELESS,
        keeps_names: false,
    },
    Stage {
        name: "named",
        events: &[Event::RollSameNames],
        size: USUAL,
        rebuild: STATELESS,
        keeps_names: true,
    },
    Stage {
        name: "stateful",
        events: &[Event::Join, Event::Leave, Event::RollNewNames, Event::Kill],
        size: USUAL,
        rebuild: Duration::from_secs(2),
        keeps_names: false,
    },
    Stage {
        name: "hundreds",
        events: &[Event::Leave, Event::Join, Event::Kill],
        size: HUNDREDS,
        rebuild: STATELESS,
        keeps_names: false,
    },
    Stage { name: "large", events: &[Event::Join], size: LARGE, rebuild: STATELESS, keeps_names: false },
];
