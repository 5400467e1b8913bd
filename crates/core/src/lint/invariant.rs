//! The invariants that every pass of a leader keeps.

use std::fmt;

/// A property that no write of a leader may break. [`Display`](fmt::Display) states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// Epochs never fall, and another owner or session has a higher one.
    EpochsRise,
    /// A new epoch is not below the store's revision, so that it is above those of records that were deleted.
    EpochsOutliveRecords,
    /// In a strict mode nobody is granted a partition, or catches up on it, while its owner may act.
    OneOwner,
    /// A partition is granted in a strict mode only once no earlier owner of it in `overlap` may still act.
    NoEarlierOwner,
    /// The offset at which an old owner stopped becomes the start of the grant that ends the handoff.
    FinalOffsetsStay,
    /// An owner that was asked to stop is granted its partitions again, above every reserved epoch, if the handoff is
    /// cancelled.
    StoppedOwnersResume,
    /// An owner whose registration can't be read loses nothing without a handoff.
    UnknownOwnersKeep,
    /// A handoff begins only where none lies.
    OneHandoff,
    /// A handoff goes from one consumer to another one.
    HandoffsMove,
    /// A handoff begins in `Warming` and takes the phases of its mode in their order.
    PhasesInOrder,
    /// The assignments name the old owner of a handoff in flight, and the new one from `Complete` on.
    OwnersMatchPhases,
    /// A handoff lies at all partitions of its unit or at none.
    HandoffsAreWhole,
    /// A handoff promises what the grants promise that it moves: one owner at a time, or not.
    HandoffsKeepModes,
    /// An old owner is asked to drain only once each required router has acknowledged the freeze.
    RoutersFreezeFirst,
    /// A consumer that gains a partition is registered in that session.
    TargetsAreHere,
    /// A consumer that gains a partition takes new ones: it neither drains nor is being ended.
    TargetsAreActive,
    /// A consumer that gains a partition is not suspected to be dead, but for one to whom it moved before.
    TargetsAreHeard,
    /// A consumer that gains a partition has the capabilities that the mode needs.
    TargetsKeepModes,
    /// A consumer that gains a partition subscribes to its topic.
    TargetsSubscribe,
    /// A partition that is granted or begins to move exists.
    PartitionsExist,
    /// A partition before a record of which two owners stopped is granted to nobody until it is resumed.
    StoppedAreHeld,
    /// A write that changes a record is guarded on it, or on the handoff to which it belongs.
    WritesAreGuarded,
    /// A write by which a session gains a partition is guarded on that session's lease.
    SessionsAreGuarded,
    /// The guards of a write hold on the state that it was decided on.
    GuardsHold,
    /// A partition of which a record can't be read is left alone.
    UnreadableIsLeft,
    /// At most one action of a plan grants, moves or forgets a partition.
    OneDecision,
    /// A plan begins handoffs only within `max_moves_in_flight`.
    MovesWithinBudget,
    /// A plan begins handoffs to a consumer only within `max_warming`.
    WarmUpsWithinBudget,
    /// A plan gives no consumer more partitions than its `max_partitions`.
    LimitsHold,
    /// A plan brings the partitions of a co-partitioned unit to one consumer.
    SetsStayTogether,
}

impl Invariant {
    /// All invariants, in their order.
    pub const ALL: [Self; 30] = [
        Self::EpochsRise,
        Self::EpochsOutliveRecords,
        Self::OneOwner,
        Self::NoEarlierOwner,
        Self::FinalOffsetsStay,
        Self::StoppedOwnersResume,
        Self::UnknownOwnersKeep,
        Self::OneHandoff,
        Self::HandoffsMove,
        Self::PhasesInOrder,
        Self::OwnersMatchPhases,
        Self::HandoffsAreWhole,
        Self::HandoffsKeepModes,
        Self::RoutersFreezeFirst,
        Self::TargetsAreHere,
        Self::TargetsAreActive,
        Self::TargetsAreHeard,
        Self::TargetsKeepModes,
        Self::TargetsSubscribe,
        Self::PartitionsExist,
        Self::StoppedAreHeld,
        Self::WritesAreGuarded,
        Self::SessionsAreGuarded,
        Self::GuardsHold,
        Self::UnreadableIsLeft,
        Self::OneDecision,
        Self::MovesWithinBudget,
        Self::WarmUpsWithinBudget,
        Self::LimitsHold,
        Self::SetsStayTogether,
    ];

    const fn statement(self) -> &'static str {
        match self {
            Self::EpochsRise => "epochs rise with every change of the owner",
            Self::EpochsOutliveRecords => "new epochs are above those of deleted records",
            Self::OneOwner => "nobody acts beside an owner in a strict mode",
            Self::NoEarlierOwner => "a strict grant waits for earlier owners",
            Self::FinalOffsetsStay => "a grant starts where the old owner stopped",
            Self::StoppedOwnersResume => "an owner that was asked to stop is granted its partitions again",
            Self::UnknownOwnersKeep => "an unreadable owner keeps its partitions",
            Self::OneHandoff => "a partition has one handoff",
            Self::HandoffsMove => "a handoff has two consumers",
            Self::PhasesInOrder => "phases follow in order",
            Self::OwnersMatchPhases => "assignments name the owner of the phase",
            Self::HandoffsAreWhole => "a handoff lies at its whole unit",
            Self::HandoffsKeepModes => "a handoff keeps the mode of the grants",
            Self::RoutersFreezeFirst => "routers freeze before the old owner drains",
            Self::TargetsAreHere => "a new owner is registered",
            Self::TargetsAreActive => "a new owner takes partitions",
            Self::TargetsAreHeard => "a new owner is not suspected to be dead",
            Self::TargetsKeepModes => "a new owner can keep the mode",
            Self::TargetsSubscribe => "a new owner subscribes to the topic",
            Self::PartitionsExist => "only existing partitions are given",
            Self::StoppedAreHeld => "nobody is granted a partition at which two owners stopped",
            Self::WritesAreGuarded => "a change is guarded on its record",
            Self::SessionsAreGuarded => "a gain is guarded on its session",
            Self::GuardsHold => "guards hold on the state of the decision",
            Self::UnreadableIsLeft => "unreadable records are left alone",
            Self::OneDecision => "a plan decides once about a partition",
            Self::MovesWithinBudget => "moves stay within the budget",
            Self::WarmUpsWithinBudget => "warm-ups stay within the budget",
            Self::LimitsHold => "no consumer has more than its limit",
            Self::SetsStayTogether => "a co-partitioned unit has one owner",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.statement())
    }
}
