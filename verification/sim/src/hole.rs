//! Known holes that can be switched on, to prove that the checker sees what they break.
//!
//! None of them is in production code: each bends what a part of the simulation passes on to it.

mod bend;
mod deletion;
mod history;
mod spendthrift;

pub(crate) use history::IDENTITY;
pub(crate) use spendthrift::Spendthrift;

use clap::ValueEnum as _;

use kafka_assigner_strategies::Strategy as _;

use crate::fault::Fault;
use crate::shape::Shape;
use crate::simulate::Outcome;

/// One hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Hole {
    /// The network takes the handoff ids out of acks, so they count for whichever handoff there is (I8).
    AcksWithoutId,
    /// The store forgets the leader's fence in every transaction (I7).
    UnfencedLeader,
    /// A completed handoff counts as taken at once, so the old owner stops before the new one works (I4).
    ReleaseBeforeTaken,
    /// The network loses commands of streams that go on (I9).
    CommandsLost,
    /// Instances see a registration that can't be read as absent (I11).
    UnreadableIsGone,
    /// The store forgets that a new owner must be registered (I10).
    OwnerUnchecked,
    /// Every lease that a leader asks about is said to be gone, so nobody waits for a claim (I1).
    ClaimsIgnored,
    /// A router says that a partition is frozen while requests of it are on their way (I5).
    RouterAcksUndrained,
    /// A router goes on sending while a partition is frozen (I5).
    RouterNeverStops,
    /// A handoff that is to freeze is stored as one that drains, so nobody waits for a router (I8).
    RoutersUnawaited,
    /// An owner admits requests that were meant for another epoch (I5).
    EpochIgnored,
    /// An owner executes requests without asking the gate or the claim (I5).
    GateForgotten,
    /// A router takes a refusal for an answer (I5).
    RefusalAnswered,
    /// A router takes a request of which nobody knows for a refused one, and sends it again (I5).
    BrokenIsRefused,
    /// Nobody tells a consumer that its stream hears nothing: neither answers to heartbeats, nor the instance itself (I4).
    DeafUnnoticed,
    /// Nobody removes the mark of a session that is heard (I13).
    MarksKept,
    /// Leaders take the wait before a takeover for none (I13).
    TakenOverEarly,
    /// The store keeps the same epoch for every grant (I2).
    EpochStays,
    /// An owner is told to start one record before the one at which the last one stopped (I3).
    StartMoved,
    /// An owner begins where it was told to, whatever is committed in that topic (I3).
    CommitsOverlooked,
    /// The store refuses to delete a handoff that is over (I6).
    HandoffsKept,
    /// A handoff that is to freeze does so without the word of the old owner, which may have a record in the works (I8).
    RestUnawaited,
    /// A handler works on records of which the client does not know (I15).
    RecordsUncounted,
    /// A store that was put back keeps epochs as they are, so that those of the lost history are granted again (I2).
    EpochsTakenAgain,
    /// The store refuses another cluster id, so that nobody begins anew after it was put back (I4).
    SameHistory,
    /// Instances renew no session whose client leaves that to them (I4).
    RenewalsForgotten,
    /// The strategy gives consumers more partitions than they take (I12).
    LimitsOverlooked,
    /// Kafka tells the id of the first topic of a name for ever (I14).
    FormerIdTold,
    /// Leaders wait for sessions of minutes after the store was put back, where nobody has such ones (I16).
    RestoreWaitedLong,
    /// The mark of a session that is not heard counts at once (I13).
    SilenceHurried,
    /// A group that is deleted leaves no word of the claims that it had (I1).
    TombstoneForgotten,
}

impl Hole {
    /// All of them, in the order of their definition.
    #[must_use]
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// The name of the invariant that it breaks.
    #[must_use]
    pub const fn invariant(self) -> &'static str {
        match self {
            Self::ClaimsIgnored | Self::TombstoneForgotten => "I1",
            Self::EpochStays | Self::EpochsTakenAgain => "I2",
            Self::StartMoved | Self::CommitsOverlooked => "I3",
            Self::ReleaseBeforeTaken | Self::DeafUnnoticed | Self::RenewalsForgotten | Self::SameHistory => {
                "I4"
            }
            Self::RouterAcksUndrained
            | Self::RouterNeverStops
            | Self::EpochIgnored
            | Self::GateForgotten
            | Self::RefusalAnswered
            | Self::BrokenIsRefused => "I5",
            Self::HandoffsKept => "I6",
            Self::UnfencedLeader => "I7",
            Self::AcksWithoutId | Self::RoutersUnawaited | Self::RestUnawaited => "I8",
            Self::CommandsLost => "I9",
            Self::OwnerUnchecked => "I10",
            Self::UnreadableIsGone => "I11",
            Self::LimitsOverlooked => "I12",
            Self::MarksKept | Self::TakenOverEarly | Self::SilenceHurried => "I13",
            Self::FormerIdTold => "I14",
            Self::RecordsUncounted => "I15",
            Self::RestoreWaitedLong => "I16",
        }
    }

    /// The only faults of a world in which it is hunted, where what it breaks needs several of them in a row; none = those of
    /// the world.
    pub(crate) const fn focus(self) -> &'static [Fault] {
        match self {
            Self::TombstoneForgotten => &[Fault::GroupDeleted],
            _ => &[],
        }
    }

    /// True if it may show in the world `seed`.
    #[must_use]
    pub fn may_show(self, seed: u64) -> bool {
        self.shows_in(&Shape::draw(seed))
    }

    /// True if it shows in what became of a world. What else breaks there does not count.
    #[must_use]
    pub fn is_shown(self, outcome: &Outcome) -> bool {
        outcome.violations.iter().any(|violation| violation.invariant == self.invariant())
    }

    /// True if it can show in a world of that shape: where there are no routers nobody asks for anything.
    pub(crate) fn shows_in(self, shape: &Shape) -> bool {
        match self {
            Self::RouterAcksUndrained
            | Self::RouterNeverStops
            | Self::RoutersUnawaited
            | Self::EpochIgnored
            | Self::GateForgotten
            | Self::RefusalAnswered
            | Self::BrokenIsRefused
            | Self::RestUnawaited
            | Self::RecordsUncounted => shape.routers > 0,
            Self::CommitsOverlooked => {
                shape.is_restored() && shape.is_strict_at_times() && shape.has_topic_ids
            }
            Self::EpochsTakenAgain | Self::SameHistory => shape.is_restored(),
            Self::RestoreWaitedLong => shape.is_restored() && shape.is_strict_at_times(),
            Self::TombstoneForgotten => shape.mode_switches,
            Self::SilenceHurried => shape.situations.revival.is_some(),
            Self::LimitsOverlooked => shape.config.strategy == Spendthrift.name(),
            Self::FormerIdTold => shape.has_topic_ids && shape.faults.contains(&Fault::TopicRecreated),
            Self::RenewalsForgotten => shape.situations.minimal > 0,
            _ => true,
        }
    }
}
