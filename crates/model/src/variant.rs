//! One rule taken out.

/// What is done wrong, for the check that it is seen.
///
/// Of the deliberately broken variants that the design lists, those about claims, freezing, draining and offsets
/// can't be faults of `overlap`, which has none of these: a hand-over in three phases, quorum by count, a late joiner
/// waited for, a claim without margin, forced ends and timers that revoke a lease at once, a new incarnation granted
/// before the old lease ran down, a remaining TTL read early, fences taken late, an undrained owner restarted, "previous
/// epoch" in place of `run`, a dropped `start`, an invented final offset, and a Register that extends only the claim
/// (in `overlap` two sessions may work at once, so nothing waits for a claim). "Complete and assignment in two
/// transactions" is about exclusive ownership as well. They belong to the modes that have those rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Variant {
    /// Nothing: the protocol as it is shipped.
    #[default]
    Shipped,
    /// A plan looks past the handoffs in flight and writes over them.
    HandoffOverwritten,
    /// An ack counts for whichever handoff stands there.
    AckWithoutId,
    /// A process keeps its incarnation over restarts.
    IncarnationPerProcess,
    /// The old owner is told to release when the assignment names the new one, not when that one works.
    ReleaseBeforeTaken,
    /// A cancel deletes whatever lies at the handoff's key.
    BareDelete,
    /// A leader's writes are not guarded on its term.
    LeaderUnfenced,
    /// A stream is answered from a view that is older than what the client has seen.
    StaleSnapshot,
    /// An unreadable registration is taken for none.
    UnreadableIsDead,
    /// A give-back is guarded on the handoff's id and not on its revision.
    GiveBackById,
    /// A new owner that dies before it took leaves an orphan for anybody.
    OrphanAtComplete,
    /// A reconnect writes the registration again where it is gone.
    ReconnectRegisters,
    /// Nobody clears a handoff away that its old owner does not release.
    NeverCleared,
}
