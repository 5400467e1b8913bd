//! The properties that must hold, as the design numbers them.

/// An invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// I1: in `exclusive` and `routed` no two consumers hold a valid claim for one partition.
    SingleHolder,
    /// I2: a partition's epoch rises with each other owner or incarnation, and never falls; and who rightly holds it
    /// is not refused by the sink.
    Epochs,
    /// I3: in `exclusive` no record is skipped, and none is done twice unless an owner died.
    NoLostWork,
    /// I4: in `overlap`, while the consumer that the assignment names lives, no step but its own death takes the last
    /// one that works away from a partition.
    NoGap,
    /// I5: in `routed` no owner acts on a state that lacks an acknowledged write.
    NoLostWrite,
    /// I6: from every state, left alone, the group comes to rest: no handoff is left and every partition has an owner
    /// that works.
    Liveness,
    /// I7: a deposed leader's writes never apply.
    OneWriter,
    /// I8: a handoff goes on only if the session concerned said so of this very attempt.
    AckIdentity,
    /// I9: what a session was told is what its view shows, and never goes back in revision.
    Truth,
    /// I11: gone is final: no registration of a session comes back.
    Finality,
    /// No attempt is overwritten by another: no partition is planned twice.
    OneAttempt,
    /// A session that was heard since it was marked is not taken over.
    Heard,
    /// A handoff that prepares for the end of a session waits for it.
    Ahead,
    /// In `routed` the old owner is not stopped while a router that is waited for has a request under way to it.
    Quiet,
    /// In `routed` requests are held back only once the old owner has no record in the works.
    Rested,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::SingleHolder,
        Self::Epochs,
        Self::NoLostWork,
        Self::NoGap,
        Self::NoLostWrite,
        Self::Liveness,
        Self::OneWriter,
        Self::AckIdentity,
        Self::Truth,
        Self::Finality,
        Self::OneAttempt,
        Self::Heard,
        Self::Ahead,
        Self::Quiet,
        Self::Rested,
    ];

    /// The name under which a counterexample is found.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleHolder => "I1 single holder",
            Self::Epochs => "I2 epochs",
            Self::NoLostWork => "I3 no lost work",
            Self::NoGap => "I4 no gap",
            Self::NoLostWrite => "I5 no acknowledged write lost",
            Self::Liveness => "I6 liveness",
            Self::OneWriter => "I7 one writer",
            Self::AckIdentity => "I8 ack identity",
            Self::Truth => "I9 truth",
            Self::Finality => "I11 finality",
            Self::OneAttempt => "one attempt",
            Self::Heard => "heard sessions live",
            Self::Ahead => "prepared moves wait",
            Self::Quiet => "quiet freeze",
            Self::Rested => "rested owners",
        }
    }
}
