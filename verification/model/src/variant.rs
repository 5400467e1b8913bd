//! One rule taken out.

/// What is done wrong, for the check that it is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Variant {
    /// Nothing: the protocol as it is shipped.
    #[default]
    Shipped,
    /// The new owner begins when it is warm, the old one stops when it is told to let go.
    ThreePhases,
    /// A plan looks past the handoffs in flight and writes over them.
    HandoffOverwritten,
    /// So many words of routers end a freeze as there are routers, whoever said them.
    QuorumByCount,
    /// A freeze waits for routers that joined after it began.
    LateJoinerAwaited,
    /// An ack counts for whichever handoff stands there.
    AckWithoutId,
    /// The first word on a unit of several partitions counts for all of them.
    FirstWordForAll,
    /// A process keeps its incarnation over restarts.
    IncarnationPerProcess,
    /// A cancel deletes whatever lies at the handoff's key.
    BareDelete,
    /// A leader's writes are not guarded on its term.
    LeaderUnfenced,
    /// A claim lasts as long as its lease.
    NoMargin,
    /// A forced end revokes the lease at once.
    EndRevokes,
    /// Heartbeats of a session that another one took over from are confirmed.
    KeepsConfirming,
    /// Somebody else is granted what a vanished owner had before that one's lease ran down.
    NotWaited,
    /// A new owner reads the log before it takes the fence.
    FenceAfterRead,
    /// A handoff is complete before, and in another transaction than, the assignment that follows from it.
    TwoTransactions,
    /// A stream is answered from a view that is older than what the client has seen.
    StaleSnapshot,
    /// The old owner is told to release when the assignment names the new one, not when that one works.
    ReleaseBeforeTaken,
    /// An unreadable registration is taken for none.
    UnreadableIsDead,
    /// An instance whose timer says that a session was not renewed revokes its lease.
    TimerRevokes,
    /// A Register that resumes a session extends the claim, and the lease not.
    ClaimWithoutLease,
    /// A reconnect writes the registration again where it is gone.
    ReconnectRegisters,
    /// The remaining time of a lease is asked for before its owner was seen to be gone.
    AskedEarly,
    /// A write that was refused is sent again under a fence that is taken for it.
    RefusedRepeated,
    /// An owner that works is started again where a cancelled attempt raised its epoch.
    UndrainedRestarted,
    /// An owner goes on where it held the epoch before, in place of one of the run.
    RunIsPrevious,
    /// A cancel without a final offset forgets the start of the grant.
    StartDropped,
    /// One who never started answers a drain with the committed offset.
    OffsetInvented,
    /// A give-back is guarded on the handoff's id and not on its revision.
    GiveBackById,
    /// A new owner that dies before it took leaves an orphan for anybody.
    OrphanAtComplete,
    /// A session says that it has stopped, and works on.
    LetGoEarly,
    /// A grant in `overlap` becomes a strict one while those who owned it before may still act.
    SwitchedAtOnce,
    /// A switch of the mode waits for claims, and not for outage graces.
    GraceForgotten,
    /// The rest of a lease is believed to a leader of the store that was deposed by then.
    TermReadAfter,
    /// A handoff that nobody ends leaves without the offset at which its old owner stopped.
    ReleaseDropsOffset,
    /// A leader forgets which routers kept the last freezes from ending.
    MissesForgotten,
    /// The mark of a session is removed after its heartbeat was confirmed.
    MarkRemovedLate,
    /// The end of a suspect's session is not guarded on its mark.
    TakeoverUnguarded,
    /// A suspect is ended and what it has granted in one write.
    EndsAndGrants,
    /// A handoff that prepares for the end of a session goes on as soon as its new owner is ready.
    AheadCompletes,
    /// Nobody clears a handoff away that its old owner does not release.
    NeverCleared,
    /// What an owner that is registered has is granted to another one without a handoff.
    TakenFromOwner,
    /// An instance ends the lease of a member that drains, where nobody can take what it has.
    DrainRevokes,
    /// A topic that comes back is granted to the owner that it had with the start of before.
    ReturnKeepsStart,
    /// Committed offsets count whichever topic they are of.
    OffsetsWithoutIds,
    /// Requests are held back though the old owner has a record in the works.
    RestUnawaited,
    /// An owner that rests begins records.
    BegunAfterRest,
    /// What was fenced is granted to another one at once.
    FenceUnwaited,
    /// A client says that it has dropped what it was fenced of, and works on.
    FenceDisobeyed,
}
