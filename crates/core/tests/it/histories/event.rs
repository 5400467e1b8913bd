//! The events of a history.

use kafka_assigner_types::mode::Mode;
use proptest::prelude::*;

pub(crate) const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
pub(super) const TOPICS: [&str; 3] = ["t", "u", "v"];
pub(super) const ROUTERS: [&str; 2] = ["r", "s"];
/// An event; one that does not fit the moment does nothing.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Join {
        who: usize,
        only: Option<usize>,
        most: Option<u32>,
        rests: bool,
    },
    Crash(usize),
    Leave(usize),
    Drain(usize),
    Restart(usize),
    Topic {
        which: usize,
        partitions: u32,
        in_set: bool,
    },
    NoTopic(usize),
    Say {
        who: usize,
        what: usize,
        at: usize,
    },
    Budget(u32),
    Grace(u64),
    Spoil(usize),
    Mode(Mode),
    CatchUp(bool),
    TopicMode {
        which: usize,
        mode: Option<Mode>,
    },
    Route(usize),
    NoRoute(usize),
    Freeze {
        who: usize,
        at: usize,
    },
    End(usize),
    /// All partitions of the member whose number is in the set stand, before the record at that offset.
    Stop {
        who: usize,
        stands: u8,
        offset: i64,
    },
    Resume {
        at: usize,
        skip: bool,
    },
    Mend,
    Later(u64),
    Pass,
    NewLeader,
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let who = 0..NAMES.len();
    let topic = 0..TOPICS.len();
    let topic_of_mode = topic.clone();
    prop_oneof![
        5 => (
            who.clone(),
            prop::option::weighted(0.2, topic.clone()),
            prop::option::weighted(0.2, 0u32..4),
            prop::bool::weighted(0.7),
        )
            .prop_map(|(who, only, most, rests)| Event::Join { who, only, most, rests }),
        2 => who.clone().prop_map(Event::Crash),
        1 => who.clone().prop_map(Event::Leave),
        1 => who.clone().prop_map(Event::Drain),
        1 => who.clone().prop_map(Event::Restart),
        2 => (topic.clone(), 1u32..5, any::<bool>())
            .prop_map(|(which, partitions, in_set)| Event::Topic { which, partitions, in_set }),
        1 => topic.prop_map(Event::NoTopic),
        3 => prop::sample::select(&Mode::ALL[..]).prop_map(Event::Mode),
        1 => any::<bool>().prop_map(Event::CatchUp),
        1 => (topic_of_mode, prop::option::of(prop::sample::select(&Mode::ALL[..])))
            .prop_map(|(which, mode)| Event::TopicMode { which, mode }),
        2 => (0..ROUTERS.len()).prop_map(Event::Route),
        1 => (0..ROUTERS.len()).prop_map(Event::NoRoute),
        4 => (0..ROUTERS.len(), 0..16usize).prop_map(|(who, at)| Event::Freeze { who, at }),
        1 => who.clone().prop_map(Event::End),
        4 => (who.clone(), any::<u8>(), 0i64..2)
            .prop_map(|(who, stands, offset)| Event::Stop { who, stands, offset }),
        1 => (0..16usize, any::<bool>()).prop_map(|(at, skip)| Event::Resume { at, skip }),
        12 => (who, 0..7usize, 0..16usize).prop_map(|(who, what, at)| Event::Say { who, what, at }),
        1 => (1u32..4).prop_map(Event::Budget),
        1 => (0u64..20_000).prop_map(Event::Grace),
        1 => (0..16usize).prop_map(Event::Spoil),
        1 => Just(Event::Mend),
        3 => (0u64..400).prop_map(Event::Later),
        10 => Just(Event::Pass),
        1 => Just(Event::NewLeader),
    ]
}
