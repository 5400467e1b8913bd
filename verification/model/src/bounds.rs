//! The bounds of a run of the model.

use kafka_assigner_types::mode::Mode;
use serde::Serialize;

/// How large the group is, and how often each kind of trouble may strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Bounds {
    /// The group's mode at the start.
    pub mode: Mode,
    /// True if new owners in `exclusive` catch up.
    pub catch_up: bool,
    /// True if the group waits out revocations.
    pub waits_out: bool,
    /// Partitions of the one topic, or of a set one of each topic.
    pub partitions: u32,
    /// True if the partitions belong to a topic each, which move as one.
    pub is_set: bool,
    /// Consumers, by name; the first owns everything at the start.
    pub names: u8,
    /// Consumers that are registered at the start.
    pub present: u8,
    /// Instances, 1 or 2: consumers are spread over them, the first leads at the start.
    pub instances: u8,
    /// Sessions that may be opened after the first one.
    pub sessions: u8,
    /// A process dies; its lease runs out later, and it may be restarted before or after.
    pub crashes: u8,
    /// A process stands still for two thirds of its lease.
    pub pauses: u8,
    /// A lease runs out under a process that lives on; in a strict mode it has to be paused first.
    pub expiries: u8,
    /// Somebody outside revokes a lease that runs.
    pub revocations: u8,
    /// A session is ended by force.
    pub ends: u8,
    /// An instance marks a session as one of a dead process.
    pub suspicions: u8,
    /// An instance answers a session that the store can't be reached: in `overlap` it goes on for its outage grace.
    pub graces: u8,
    /// Between the parts of a heartbeat (read, keep alive, read) something else happens.
    pub slow_beats: u8,
    /// A second process registers under a name whose process lives.
    pub twins: u8,
    /// A consumer leaves at once.
    pub leaves: u8,
    /// A consumer leaves and says that it comes back.
    pub restarts: u8,
    /// A consumer asks to be drained.
    pub drains: u8,
    /// An ack is repeated by the network at any later time.
    pub strays: u8,
    /// A leader's write has an unknown outcome, and may apply at any later time.
    pub unknowns: u8,
    /// The leader is deposed, and learns of it late.
    pub depositions: u8,
    /// A phase outlives its deadline.
    pub deadlines: u8,
    /// An owner is fenced of a partition, since it did not let it go in time.
    pub fences: u8,
    /// An operator stops a handoff.
    pub aborts: u8,
    /// A new owner says that it can't.
    pub failures: u8,
    /// A stream breaks, and the client attaches to another instance.
    pub reconnects: u8,
    /// A registration becomes unreadable for a while.
    pub spoils: u8,
    /// The topics are deleted and created again with empty logs (`exclusive`); once at most, since revisions are kept out of
    /// records.
    pub returns: u8,
    /// An operator switches the group to another mode, and back.
    pub switches: u8,
    /// The mode to which the group is switched.
    pub other_mode: Mode,
    /// Records that owners may work on (`exclusive`, `routed`).
    pub records: u8,
    /// Commits that owners may make (`exclusive`).
    pub commits: u8,
    /// Routers at the start (`routed`).
    pub routers: u8,
    /// Routers that may join later, under a new name or one that was there.
    pub router_joins: u8,
    /// True if those that join later never say a word.
    pub mute: bool,
    /// Routers, of those at the start, that stand still: they are told nothing, and say nothing.
    pub stuck: u8,
    /// Routers that stand still and go on at some time.
    pub wakes: u8,
    /// Routers that may die.
    pub router_crashes: u8,
    /// Requests that routers get.
    pub requests: u8,
    /// What an owner sends to the log may arrive there at any later time.
    pub flights: u8,
}

impl Bounds {
    /// A group of one partition and two consumers in `mode` on one instance. In `overlap` the second one is still to
    /// register; in the strict modes it is there, and the partition moves because the first one drains.
    #[must_use]
    pub fn small(mode: Mode) -> Self {
        let one = Self { mode, partitions: 1, names: 2, present: 1, instances: 1, ..Self::default() };
        match mode.is_strict() {
            true => Self { present: 2, drains: 1, ..one },
            false => Self { sessions: 1, ..one },
        }
    }
}
