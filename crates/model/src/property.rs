//! What must hold, as the design numbers it.

/// An invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// I2: a partition's epoch rises with each other owner or incarnation, and never falls.
    Epochs,
    /// I4: while the consumer that the assignment names lives, no step but its own death takes the last one that
    /// works away from a partition.
    NoGap,
    /// I6: where nothing can move any more, no handoff is left and every partition has an owner that works.
    Liveness,
    /// I7: a deposed leader's writes never apply.
    OneWriter,
    /// I8: a handoff is ready, taken or released only if the session concerned said so of this very attempt.
    AckIdentity,
    /// I9: what a session was told is what its view shows, and never goes back in revision.
    Truth,
    /// I11: gone is final: no registration of a session comes back.
    Finality,
    /// No attempt is overwritten by another: no partition is planned twice.
    OneAttempt,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Epochs,
        Self::NoGap,
        Self::Liveness,
        Self::OneWriter,
        Self::AckIdentity,
        Self::Truth,
        Self::Finality,
        Self::OneAttempt,
    ];

    /// The name under which a counterexample is found.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epochs => "I2 epochs",
            Self::NoGap => "I4 no gap",
            Self::Liveness => "I6 liveness",
            Self::OneWriter => "I7 one writer",
            Self::AckIdentity => "I8 ack identity",
            Self::Truth => "I9 truth",
            Self::Finality => "I11 finality",
            Self::OneAttempt => "one attempt",
        }
    }
}
