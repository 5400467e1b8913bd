//! The suite that is explored: the shipped protocol within several bounds of each mode, and each rule taken out once.

use kafka_assigner_types::mode::Mode::{self, Exclusive, Overlap, Routed};

use crate::bounds::Bounds;
use crate::property::Invariant;
use crate::variant::Variant;

/// The shipped protocol within bounds.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What happens in it.
    pub name: &'static str,
    /// How much of that.
    pub bounds: Bounds,
}

/// The protocol without one of its rules.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// What is done wrong.
    pub name: &'static str,
    /// The same for the model.
    pub variant: Variant,
    /// Within which bounds.
    pub bounds: Bounds,
    /// What shows it.
    pub breaks: Invariant,
}

fn within(mode: Mode, adjust: impl FnOnce(&mut Bounds)) -> Bounds {
    let mut bounds = Bounds::small(mode);
    adjust(&mut bounds);
    bounds
}

/// A unit that moves because its owner drains, and an operator who switches the mode once.
fn switched(mode: Mode, other_mode: Mode, adjust: impl FnOnce(&mut Bounds)) -> Bounds {
    within(mode, |b| {
        (b.other_mode, b.switches) = (other_mode, 1);
        (b.sessions, b.drains) = (1, 1);
        adjust(b);
    })
}

const fn scenario(name: &'static str, bounds: Bounds) -> Scenario {
    Scenario { name, bounds }
}

/// What is explored of a mode.
#[must_use]
pub fn scenarios(mode: Mode) -> Vec<Scenario> {
    match mode {
        Overlap => overlap(),
        Exclusive => exclusive(),
        Routed => routed(),
    }
}

fn overlap() -> Vec<Scenario> {
    let two = |adjust: fn(&mut Bounds)| {
        within(Overlap, |b| {
            b.partitions = 2;
            adjust(b);
        })
    };
    vec![
        scenario("join", two(|_| {})),
        scenario("crash and restart at any moment", two(|b| (b.sessions, b.crashes) = (2, 1))),
        scenario("two deaths", within(Overlap, |b| (b.sessions, b.crashes, b.drains) = (3, 2, 1))),
        scenario("zombie", two(|b| (b.sessions, b.expiries) = (2, 1))),
        scenario("takeover by name", two(|b| (b.sessions, b.twins) = (2, 1))),
        scenario("restart", two(|b| (b.sessions, b.restarts) = (2, 1))),
        scenario("leave and drain", within(Overlap, |b| (b.sessions, b.leaves, b.drains) = (2, 1, 1))),
        scenario("late acks", two(|b| (b.strays, b.failures, b.deadlines) = (1, 1, 1))),
        scenario("unknown outcomes", two(|b| (b.unknowns, b.deadlines, b.failures) = (1, 1, 1))),
        scenario("two leaders", two(|b| (b.instances, b.depositions, b.unknowns) = (2, 1, 1))),
        scenario("reconnects", two(|b| (b.instances, b.reconnects, b.expiries) = (2, 2, 1))),
        scenario("given back", two(|b| (b.crashes, b.deadlines, b.unknowns) = (1, 1, 1))),
        scenario("unreadable registration", two(|b| (b.spoils, b.crashes) = (1, 1))),
        scenario(
            "switched to exclusive",
            switched(Overlap, Exclusive, |b| (b.names, b.sessions, b.twins, b.drains) = (1, 1, 1, 0)),
        ),
        scenario(
            "switched to exclusive and back",
            switched(Overlap, Exclusive, |b| (b.switches, b.deadlines) = (2, 1)),
        ),
        scenario(
            "switched, with an outage grace",
            switched(Overlap, Exclusive, |b| (b.graces, b.pauses, b.expiries, b.drains) = (1, 1, 1, 0)),
        ),
        scenario("switched, fenced", switched(Overlap, Exclusive, |b| b.fences = 1)),
        scenario(
            "switched, given back",
            switched(Overlap, Exclusive, |b| (b.crashes, b.deadlines, b.expiries) = (1, 1, 1)),
        ),
        scenario("a third joins", two(|b| (b.names, b.sessions, b.crashes) = (3, 2, 1))),
        scenario("a set", two(|b| (b.is_set, b.drains, b.crashes, b.failures) = (true, 1, 1, 1))),
        scenario("suspicion", within(Overlap, |b| (b.suspicions, b.crashes) = (1, 1))),
        scenario(
            "suspicion, and a leader that lags",
            within(Overlap, |b| (b.suspicions, b.instances) = (2, 2)),
        ),
    ]
}

fn exclusive() -> Vec<Scenario> {
    let strict = |adjust: fn(&mut Bounds)| within(Exclusive, adjust);
    let set = |adjust: fn(&mut Bounds)| {
        within(Exclusive, |b| {
            (b.partitions, b.is_set) = (2, true);
            adjust(b);
        })
    };
    vec![
        scenario(
            "cancelled at any moment",
            strict(|b| (b.records, b.commits, b.aborts, b.failures) = (2, 1, 1, 1)),
        ),
        scenario("cancelled twice", strict(|b| (b.deadlines, b.records, b.commits) = (2, 2, 1))),
        scenario("join", strict(|b| (b.present, b.sessions, b.records, b.deadlines) = (1, 1, 1, 1))),
        scenario(
            "crash and restart at any moment",
            strict(|b| (b.sessions, b.crashes, b.records) = (1, 1, 1)),
        ),
        scenario("pause", strict(|b| (b.pauses, b.records, b.deadlines) = (2, 1, 1))),
        scenario("takeover by name", strict(|b| (b.sessions, b.twins, b.pauses) = (1, 1, 1))),
        scenario(
            "slow heartbeats",
            strict(|b| (b.sessions, b.twins, b.pauses, b.slow_beats, b.drains) = (1, 1, 1, 1, 0)),
        ),
        scenario("zombie", strict(|b| (b.pauses, b.expiries, b.records) = (1, 1, 1))),
        scenario("forced end", strict(|b| (b.ends, b.records) = (1, 1))),
        scenario("revocation", strict(|b| (b.revocations, b.records) = (1, 2))),
        scenario("revocation waited out", strict(|b| (b.waits_out, b.revocations, b.records) = (true, 1, 1))),
        scenario("leave", strict(|b| (b.leaves, b.records, b.commits) = (1, 2, 1))),
        scenario(
            "switched to overlap and back",
            switched(Exclusive, Overlap, |b| (b.switches, b.records, b.commits) = (2, 1, 1)),
        ),
        scenario("switched to overlap", switched(Exclusive, Overlap, |b| (b.sessions, b.leaves) = (0, 1))),
        scenario("switched to routed", switched(Exclusive, Routed, |b| b.records = 1)),
        scenario("let go", strict(|b| (b.sessions, b.twins, b.leaves, b.drains) = (1, 1, 1, 0))),
        scenario(
            "leave where revocations are waited out",
            strict(|b| (b.waits_out, b.leaves, b.revocations, b.drains) = (true, 1, 1, 0)),
        ),
        scenario("restart", strict(|b| (b.sessions, b.restarts, b.records, b.commits) = (1, 1, 1, 1))),
        scenario("late acks", strict(|b| (b.strays, b.deadlines, b.records) = (1, 1, 1))),
        scenario("unknown outcomes", strict(|b| (b.unknowns, b.deadlines, b.records) = (1, 1, 1))),
        scenario("two leaders", strict(|b| (b.instances, b.depositions, b.unknowns) = (2, 1, 1))),
        scenario("reconnects", strict(|b| (b.instances, b.reconnects, b.pauses) = (2, 1, 1))),
        scenario("catch up", strict(|b| (b.catch_up, b.deadlines, b.failures, b.records) = (true, 1, 1, 1))),
        scenario(
            "catch up and crash",
            strict(|b| (b.catch_up, b.crashes, b.deadlines, b.records) = (true, 1, 1, 1)),
        ),
        scenario(
            "two partitions",
            strict(|b| (b.partitions, b.sessions, b.crashes, b.drains) = (2, 1, 1, 0)),
        ),
        scenario(
            "a third takes over",
            strict(|b| (b.names, b.present, b.drains, b.deadlines, b.records) = (3, 3, 2, 2, 1)),
        ),
        scenario("unreadable registration", strict(|b| (b.spoils, b.crashes) = (1, 1))),
        scenario("a set", set(|b| (b.crashes, b.deadlines, b.records, b.commits) = (1, 1, 1, 1))),
        scenario("a topic returns", strict(|b| (b.returns, b.records, b.commits) = (1, 2, 1))),
        scenario("suspicion", strict(|b| (b.suspicions, b.crashes, b.pauses, b.drains) = (1, 1, 1, 0))),
        scenario(
            "suspicion, a forced end and a slow heartbeat",
            strict(|b| (b.suspicions, b.ends, b.pauses, b.slow_beats, b.drains) = (1, 1, 1, 1, 0)),
        ),
        scenario("suspicion of one that drains", strict(|b| (b.suspicions, b.crashes) = (1, 1))),
        scenario("fenced", strict(|b| (b.fences, b.pauses, b.records, b.commits) = (1, 1, 1, 1))),
        scenario("fenced, and catches up", strict(|b| (b.catch_up, b.fences, b.aborts) = (true, 1, 1))),
        scenario("a set catches up", set(|b| (b.catch_up, b.failures, b.records) = (true, 1, 1))),
    ]
}

fn routed() -> Vec<Scenario> {
    let strict = |adjust: fn(&mut Bounds)| {
        within(Routed, |b| {
            b.routers = 1;
            adjust(b);
        })
    };
    vec![
        scenario("cancelled at any moment", strict(|b| (b.requests, b.deadlines) = (1, 1))),
        scenario("two routers", strict(|b| (b.routers, b.requests) = (2, 1))),
        scenario("crash", strict(|b| (b.crashes, b.requests, b.flights) = (1, 1, 1))),
        scenario("zombie", strict(|b| (b.pauses, b.expiries, b.requests, b.flights) = (1, 1, 1, 1))),
        scenario("a router joins late", strict(|b| (b.router_joins, b.mute) = (1, true))),
        scenario("a router comes back", strict(|b| (b.router_joins, b.router_crashes) = (1, 1))),
        scenario(
            "a router that is left out comes back",
            strict(|b| (b.stuck, b.wakes, b.requests) = (1, 1, 1)),
        ),
        scenario("two leaders", strict(|b| (b.instances, b.depositions, b.unknowns) = (2, 1, 1))),
        scenario("restart", strict(|b| (b.sessions, b.restarts, b.drains) = (1, 1, 0))),
        scenario("switched to exclusive", switched(Routed, Exclusive, |b| (b.routers, b.sessions) = (1, 0))),
        scenario("a set", strict(|b| (b.partitions, b.is_set, b.requests) = (2, true, 1))),
        scenario("suspicion", strict(|b| (b.suspicions, b.crashes, b.drains) = (1, 1, 0))),
        scenario("no router", strict(|b| (b.routers, b.deadlines, b.failures) = (0, 1, 1))),
        scenario("records in the works", strict(|b| (b.records, b.deadlines) = (2, 1))),
        scenario("a record in the works and a crash", strict(|b| (b.records, b.crashes) = (1, 1))),
        scenario(
            "a record in the works and a suspect",
            strict(|b| (b.records, b.suspicions, b.drains) = (1, 1, 0)),
        ),
    ]
}

/// Every rule taken out once.
#[must_use]
pub fn faults() -> Vec<Fault> {
    [overlap_faults(), exclusive_faults(), routed_faults()].concat()
}

const fn fault(name: &'static str, variant: Variant, bounds: Bounds, breaks: Invariant) -> Fault {
    Fault { name, variant, bounds, breaks }
}

fn overlap_faults() -> Vec<Fault> {
    let two = |adjust: fn(&mut Bounds)| {
        within(Overlap, |b| {
            b.partitions = 2;
            adjust(b);
        })
    };
    let third = two(|b| (b.names, b.sessions) = (3, 2));
    let orphan = within(Overlap, |b| (b.names, b.sessions, b.crashes, b.drains) = (3, 2, 1, 1));
    vec![
        fault("handoff overwritten", Variant::HandoffOverwritten, third, Invariant::OneAttempt),
        fault(
            "ack without id",
            Variant::AckWithoutId,
            two(|b| (b.strays, b.failures) = (1, 1)),
            Invariant::AckIdentity,
        ),
        fault(
            "incarnation per process",
            Variant::IncarnationPerProcess,
            two(|b| (b.sessions, b.crashes) = (2, 1)),
            Invariant::AckIdentity,
        ),
        fault("release before taken", Variant::ReleaseBeforeTaken, two(|_| {}), Invariant::NoGap),
        fault(
            "bare delete",
            Variant::BareDelete,
            two(|b| (b.unknowns, b.deadlines) = (1, 1)),
            Invariant::NoGap,
        ),
        fault(
            "leader unfenced",
            Variant::LeaderUnfenced,
            two(|b| (b.instances, b.depositions) = (2, 1)),
            Invariant::OneWriter,
        ),
        fault(
            "stale snapshot",
            Variant::StaleSnapshot,
            two(|b| (b.instances, b.reconnects) = (2, 1)),
            Invariant::Truth,
        ),
        fault("unreadable is dead", Variant::UnreadableIsDead, two(|b| b.spoils = 1), Invariant::NoGap),
        fault(
            "give back by id",
            Variant::GiveBackById,
            two(|b| (b.deadlines, b.unknowns) = (1, 1)),
            Invariant::NoGap,
        ),
        fault("orphan at complete", Variant::OrphanAtComplete, orphan, Invariant::NoGap),
        fault(
            "reconnect registers",
            Variant::ReconnectRegisters,
            two(|b| (b.instances, b.reconnects, b.expiries) = (2, 1, 1)),
            Invariant::Finality,
        ),
        fault(
            "switched at once",
            Variant::SwitchedAtOnce,
            switched(Overlap, Exclusive, |b| (b.sessions, b.twins) = (2, 1)),
            Invariant::SingleHolder,
        ),
        fault(
            "grace forgotten",
            Variant::GraceForgotten,
            switched(Overlap, Exclusive, |b| (b.graces, b.pauses, b.expiries, b.drains) = (1, 1, 1, 0)),
            Invariant::SingleHolder,
        ),
        fault(
            "switched past a fence",
            Variant::FenceUnwaited,
            switched(Overlap, Exclusive, |b| b.fences = 1),
            Invariant::SingleHolder,
        ),
        fault("mark removed late", Variant::MarkRemovedLate, two(|b| b.suspicions = 1), Invariant::Heard),
        fault("takeover unguarded", Variant::TakeoverUnguarded, two(|b| b.suspicions = 1), Invariant::Heard),
        fault("never cleared", Variant::NeverCleared, two(|b| b.crashes = 1), Invariant::Liveness),
    ]
}

fn exclusive_faults() -> Vec<Fault> {
    let strict = |adjust: fn(&mut Bounds)| within(Exclusive, adjust);
    let one = Invariant::SingleHolder;
    let twin = strict(|b| (b.sessions, b.twins, b.pauses, b.drains) = (1, 1, 1, 0));
    vec![
        fault("no margin", Variant::NoMargin, twin, one),
        fault("end revokes", Variant::EndRevokes, strict(|b| b.ends = 1), one),
        fault(
            "first word for all",
            Variant::FirstWordForAll,
            strict(|b| (b.partitions, b.is_set) = (2, true)),
            Invariant::AckIdentity,
        ),
        fault("keeps confirming", Variant::KeepsConfirming, twin, one),
        fault("not waited", Variant::NotWaited, twin, one),
        fault("two transactions", Variant::TwoTransactions, strict(|b| b.records = 1), one),
        fault("timer revokes", Variant::TimerRevokes, strict(|b| b.revocations = 1), one),
        fault(
            "claim without lease",
            Variant::ClaimWithoutLease,
            strict(|b| {
                (b.sessions, b.instances, b.reconnects, b.pauses, b.twins, b.drains) = (1, 2, 1, 1, 1, 0);
            }),
            one,
        ),
        fault(
            "let go early",
            Variant::LetGoEarly,
            strict(|b| (b.sessions, b.twins, b.leaves, b.drains) = (1, 1, 1, 0)),
            one,
        ),
        fault("asked early", Variant::AskedEarly, twin, one),
        fault("term read after", Variant::TermReadAfter, twin, one),
        fault(
            "ends and grants",
            Variant::EndsAndGrants,
            strict(|b| (b.suspicions, b.pauses, b.drains) = (1, 1, 0)),
            one,
        ),
        fault(
            "ahead drains",
            Variant::AheadCompletes,
            strict(|b| (b.suspicions, b.drains) = (1, 0)),
            Invariant::Ahead,
        ),
        fault("taken from an owner", Variant::TakenFromOwner, strict(|b| b.drains = 0), one),
        fault("drain revokes", Variant::DrainRevokes, strict(|b| (b.present, b.sessions) = (1, 1)), one),
        fault(
            "return keeps the start",
            Variant::ReturnKeepsStart,
            strict(|b| (b.returns, b.records) = (1, 1)),
            Invariant::NoLostWork,
        ),
        fault(
            "offsets without ids",
            Variant::OffsetsWithoutIds,
            strict(|b| (b.returns, b.records, b.commits) = (1, 2, 1)),
            Invariant::NoLostWork,
        ),
        fault(
            "undrained restarted",
            Variant::UndrainedRestarted,
            strict(|b| (b.deadlines, b.records) = (1, 1)),
            Invariant::NoLostWork,
        ),
        fault(
            "run is previous",
            Variant::RunIsPrevious,
            strict(|b| (b.deadlines, b.records) = (2, 1)),
            Invariant::NoLostWork,
        ),
        fault(
            "start dropped",
            Variant::StartDropped,
            strict(|b| (b.names, b.present, b.drains, b.deadlines, b.records) = (3, 3, 2, 2, 1)),
            Invariant::NoLostWork,
        ),
        fault("fence unwaited", Variant::FenceUnwaited, strict(|b| b.fences = 1), one),
        fault("fence disobeyed", Variant::FenceDisobeyed, strict(|b| b.fences = 1), one),
        fault(
            "release drops its offset",
            Variant::ReleaseDropsOffset,
            strict(|b| (b.catch_up, b.crashes, b.deadlines, b.records) = (true, 1, 1, 1)),
            Invariant::NoLostWork,
        ),
        fault(
            "offset invented",
            Variant::OffsetInvented,
            strict(|b| (b.names, b.present, b.drains, b.deadlines, b.records) = (3, 3, 2, 2, 1)),
            Invariant::NoLostWork,
        ),
    ]
}

fn routed_faults() -> Vec<Fault> {
    let strict = |adjust: fn(&mut Bounds)| {
        within(Routed, |b| {
            b.routers = 1;
            adjust(b);
        })
    };
    vec![
        fault("three phases", Variant::ThreePhases, strict(|b| b.requests = 1), Invariant::NoLostWrite),
        fault(
            "quorum by count",
            Variant::QuorumByCount,
            strict(|b| (b.routers, b.router_crashes, b.requests) = (2, 1, 1)),
            Invariant::Quiet,
        ),
        fault(
            "late joiner awaited",
            Variant::LateJoinerAwaited,
            strict(|b| (b.router_joins, b.mute) = (1, true)),
            Invariant::Liveness,
        ),
        fault(
            "misses forgotten",
            Variant::MissesForgotten,
            strict(|b| (b.stuck, b.wakes, b.requests) = (1, 1, 1)),
            Invariant::Liveness,
        ),
        fault(
            "fence after read",
            Variant::FenceAfterRead,
            strict(|b| (b.crashes, b.requests, b.flights) = (1, 1, 1)),
            Invariant::NoLostWrite,
        ),
        fault("rest unawaited", Variant::RestUnawaited, strict(|b| b.records = 1), Invariant::Rested),
        fault("begun after rest", Variant::BegunAfterRest, strict(|b| b.records = 1), Invariant::Rested),
        fault(
            "refused repeated",
            Variant::RefusedRepeated,
            strict(|b| (b.pauses, b.expiries, b.requests, b.flights) = (1, 1, 1, 1)),
            Invariant::NoLostWrite,
        ),
    ]
}
