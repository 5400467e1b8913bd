//! What one group goes through.

use std::time::Duration;

use crate::event::Event;

/// What one group goes through, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Stage {
    /// What it is called in the names of groups and files.
    pub(crate) name: &'static str,
    /// In this order.
    pub(crate) events: &'static [Event],
    /// How long the state of a partition takes to rebuild; zero where there is none.
    pub(crate) rebuild: Duration,
    /// Whether members come back under their names, and their partitions are kept for them: static members of Kafka.
    pub(crate) keeps_names: bool,
}

const STATELESS: Duration = Duration::ZERO;

/// Before anything is measured: a broker that has just started takes its time for the first million records.
pub(crate) const REHEARSAL: Stage =
    Stage { name: "rehearsal", events: &[Event::Join, Event::Leave], rebuild: STATELESS, keeps_names: false };

/// For a run with little time.
pub(crate) const QUICK: &[Stage] =
    &[Stage { name: "quick", events: &[Event::Join, Event::Leave], rebuild: STATELESS, keeps_names: false }];

/// For a whole run. A kill leaves one member less than there were, so it is last.
pub(crate) const FULL: &[Stage] = &[
    Stage {
        name: "stateless",
        events: &[Event::Join, Event::Leave, Event::RollNewNames, Event::Kill],
        rebuild: STATELESS,
        keeps_names: false,
    },
    Stage { name: "named", events: &[Event::RollSameNames], rebuild: STATELESS, keeps_names: true },
    Stage {
        name: "stateful",
        events: &[Event::Join, Event::Leave, Event::RollNewNames, Event::Kill],
        rebuild: Duration::from_secs(2),
        keeps_names: false,
    },
];
