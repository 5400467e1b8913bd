//! The faults of a world.

use std::fmt;

use kafka_assigner_types::mode::Mode;

/// A kind of fault. Each occurrence is counted under [`name`](Self::name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A consumer's process ends without a word; its name comes back after its session ran out.
    ConsumerKilled,
    /// A consumer's process ends without a word and comes back under its name within its session.
    ConsumerRestarted,
    /// A consumer's process makes no step for longer than its session lives, then goes on.
    ConsumerFrozen,
    /// No call of a consumer reaches anybody, and no answer reaches it.
    ConsumerCutOff,
    /// The same, and somebody who takes it for dead deletes its registration: it works on for as long as its claim
    /// lasts, and hears of nothing.
    ConsumerWrittenOff,
    /// A living consumer is marked as dead by its looks, and heard soon after.
    ConsumerSuspected,
    /// Another process opens a session under a name that is in use.
    NameTakenTwice,
    /// A consumer hands everything over and leaves.
    ConsumerLeaves,
    /// A consumer says that it restarts, and comes back.
    ConsumerSaysRestart,
    /// Several consumers join at once.
    JoinBurst,
    /// A warm-up fails.
    WarmFails,
    /// A warm-up does not end.
    WarmNeverEnds,
    /// A stream is not read.
    DeafStream,
    /// A stream breaks.
    StreamCut,
    /// Calls get lost on their way, or their answers do.
    CallsLost,
    /// Acks arrive once more, seconds later.
    AcksRepeated,
    /// An instance ends without a word; its leases are left to run out.
    InstanceKilled,
    /// An instance stops in good order.
    InstanceStopped,
    /// The leader is killed while handoffs are under way.
    LeaderKilled,
    /// A party of a handoff dies in a given phase of it.
    PartyKilled,
    /// Nobody reaches the store.
    StoreOutage,
    /// One instance does not reach the store.
    LinkDown,
    /// One instance does not reach the store for minutes, and nobody is excused for longer than a group is without its
    /// leader: whoever hangs on that instance has to notice.
    InstanceCutOff,
    /// The store carries calls out and their callers never learn of it.
    AppliedUnknown,
    /// Calls to the store are lost and their callers never learn of it.
    LostUnknown,
    /// The watches of an instance end.
    WatchCut,
    /// The views of an instance fall behind.
    ViewLags,
    /// The store forgets its past while views lag.
    Compaction,
    /// A session's lease is revoked by a stranger.
    LeaseRevoked,
    /// A registration is deleted by hand.
    RegistrationDeleted,
    /// A record can't be read, and can be read again later.
    RecordUnreadable,
    /// A topic gets more partitions.
    TopicGrown,
    /// A topic vanishes, and comes back later.
    TopicVanished,
    /// The group gets another strategy.
    StrategySwitched,
    /// The group's limits and times change.
    ConfigChanged,
    /// The group gets another mode.
    ModeSwitched,
    /// A consumer's process ends without a word while it executes requests.
    OwnerKilledServing,
    /// A router's process ends without a word; its name comes back after its session ran out.
    RouterKilled,
    /// A router's process ends without a word and comes back under its name within its session.
    RouterRestarted,
    /// A router's process makes no step for longer than its session lives, then goes on.
    RouterFrozen,
    /// No call of a router reaches an instance, and nothing reaches it from there; owners are in its reach.
    RouterCutOff,
    /// A router is cut off from the instances one way only.
    RouterHalfCutOff,
    /// A router's stream is not read, so its table falls behind.
    RouterTableLags,
    /// A router joins.
    RouterJoins,
    /// A router answers what it holds and leaves.
    RouterLeaves,
    /// A router dies, joins or leaves in a given phase of a handoff.
    RouterStruck,
    /// Another process opens a session under a router's name.
    RouterNameTakenTwice,
    /// A router's lease is revoked by a stranger, or its registration is deleted by hand.
    RouterSessionEnded,
    /// A router's word about a handoff is deleted by hand.
    RouterWordDeleted,
    /// A consumer does not reach one instance, and reaches the others: it has to notice, and nobody is excused for longer
    /// than its connection takes to be given up.
    ConsumerCutFromOne,
    /// A router does not reach one instance, and reaches the others.
    RouterCutFromOne,
    /// The first record of a partition takes longer than every deadline.
    SlowFirstRecord,
    /// The record that an owner has in the works when it is to stop takes longer than every deadline.
    SlowDrain,
    /// A topic is deleted and created again, with an empty log, another id and another number of partitions.
    TopicRecreated,
    /// Almost everybody is gone, an operator deletes the group, and it is made again.
    GroupDeleted,
    /// The wall clock of an instance jumps, forward or back.
    WallClockJumps,
    /// The store is put back to a backup: what came later is lost.
    StoreWentBack,
    /// A consumer hears of nothing while its group is deleted and made again: it reaches nobody, or one instance that does not
    /// reach the store.
    ConsumerStranded,
    /// Leaders of the store change again and again, and each gives every lease its whole time again, also that of a consumer
    /// that stands still.
    LeasesRevived,
    /// The process of a consumer ends without a word whose session the instances renew.
    MinimalKilled,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 60] = [
        Self::ConsumerKilled,
        Self::ConsumerRestarted,
        Self::ConsumerFrozen,
        Self::ConsumerCutOff,
        Self::ConsumerWrittenOff,
        Self::ConsumerSuspected,
        Self::NameTakenTwice,
        Self::ConsumerLeaves,
        Self::ConsumerSaysRestart,
        Self::JoinBurst,
        Self::WarmFails,
        Self::WarmNeverEnds,
        Self::DeafStream,
        Self::StreamCut,
        Self::CallsLost,
        Self::AcksRepeated,
        Self::InstanceKilled,
        Self::InstanceStopped,
        Self::LeaderKilled,
        Self::PartyKilled,
        Self::StoreOutage,
        Self::LinkDown,
        Self::InstanceCutOff,
        Self::AppliedUnknown,
        Self::LostUnknown,
        Self::WatchCut,
        Self::ViewLags,
        Self::Compaction,
        Self::LeaseRevoked,
        Self::RegistrationDeleted,
        Self::RecordUnreadable,
        Self::TopicGrown,
        Self::TopicVanished,
        Self::StrategySwitched,
        Self::ConfigChanged,
        Self::ModeSwitched,
        Self::OwnerKilledServing,
        Self::RouterKilled,
        Self::RouterRestarted,
        Self::RouterFrozen,
        Self::RouterCutOff,
        Self::RouterHalfCutOff,
        Self::RouterTableLags,
        Self::RouterJoins,
        Self::RouterLeaves,
        Self::RouterStruck,
        Self::RouterNameTakenTwice,
        Self::RouterSessionEnded,
        Self::RouterWordDeleted,
        Self::ConsumerCutFromOne,
        Self::RouterCutFromOne,
        Self::SlowFirstRecord,
        Self::SlowDrain,
        Self::TopicRecreated,
        Self::GroupDeleted,
        Self::WallClockJumps,
        Self::StoreWentBack,
        Self::ConsumerStranded,
        Self::LeasesRevived,
        Self::MinimalKilled,
    ];

    /// The kinds of which no request may fail: members come and go in good order, and people change what they may.
    pub(crate) const PLANNED: [Self; 7] = [
        Self::JoinBurst,
        Self::ConsumerLeaves,
        Self::TopicGrown,
        Self::StrategySwitched,
        Self::ConfigChanged,
        Self::RouterJoins,
        Self::RouterLeaves,
    ];

    /// True if it takes routers and their requests to happen.
    pub(crate) const fn needs_routers(self) -> bool {
        matches!(
            self,
            Self::OwnerKilledServing
                | Self::RouterKilled
                | Self::RouterRestarted
                | Self::RouterFrozen
                | Self::RouterCutOff
                | Self::RouterHalfCutOff
                | Self::RouterTableLags
                | Self::RouterJoins
                | Self::RouterLeaves
                | Self::RouterStruck
                | Self::RouterNameTakenTwice
                | Self::RouterSessionEnded
                | Self::RouterWordDeleted
                | Self::RouterCutFromOne
        )
    }

    /// True if a world meets it by its [situations](crate::situation), or with another fault, and not among those that it
    /// draws.
    pub(crate) const fn is_a_situation(self) -> bool {
        matches!(
            self,
            Self::StoreWentBack | Self::ConsumerStranded | Self::LeasesRevived | Self::MinimalKilled
        )
    }

    /// A stable word: the kind's name in lower case with underscores.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Somebody who can die in a handoff, or come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The member that gives.
    Old,
    /// The member that takes.
    New,
    /// The group's leader.
    Leader,
    /// One of the routers.
    Router,
    /// A router that joins in that moment.
    Joiner,
    /// A router that leaves in good order from that moment on.
    Leaver,
}

impl Party {
    /// True if it is about a router.
    #[must_use]
    pub const fn routes(self) -> bool {
        matches!(self, Self::Router | Self::Joiner | Self::Leaver)
    }
}

/// The place where a handoff stands, as finely as deaths in it are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// The new owner prepares.
    Warming,
    /// It has prepared.
    Ready,
    /// Routers hold requests back.
    Freezing,
    /// The old owner stops.
    Draining,
    /// The new owner reads what is left.
    CatchingUp,
    /// It owns, and has not said that it works.
    Complete,
    /// It works; the old owner lets go.
    Taken,
}

/// A death in a handoff, or a router that comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strike {
    /// The moment.
    pub moment: Moment,
    /// Whose, or who.
    pub party: Party,
}

impl Strike {
    /// True if a handoff in `mode` comes to that moment. What is taken before it is released is no moment of the strict
    /// modes, since the words come in any order there.
    #[must_use]
    pub const fn is_in(self, mode: Mode) -> bool {
        match self.moment {
            Moment::Warming | Moment::Ready | Moment::Complete | Moment::Taken => true,
            Moment::Draining | Moment::CatchingUp => mode.is_strict(),
            Moment::Freezing => matches!(mode, Mode::Routed),
        }
    }

    /// Everything of the kind.
    pub fn all() -> impl Iterator<Item = Self> {
        let moments = [
            Moment::Warming,
            Moment::Ready,
            Moment::Freezing,
            Moment::Draining,
            Moment::CatchingUp,
            Moment::Complete,
            Moment::Taken,
        ];
        let parties = [Party::Old, Party::New, Party::Leader, Party::Router, Party::Joiner, Party::Leaver];
        moments.into_iter().flat_map(move |moment| parties.map(|party| Self { moment, party }))
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            Moment::CatchingUp => "catching_up".to_owned(),
            moment => format!("{moment:?}").to_ascii_lowercase(),
        };
        write!(f, "{moment}_{}", format!("{:?}", self.party).to_ascii_lowercase())
    }
}
