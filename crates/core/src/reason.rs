//! Reasons: one value for each thing that is decided, stored with it and shown to people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::record::{Extra, Phase};
use kafka_assigner_types::id::Offset;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::MemberName;

/// A reason that a newer version wrote: it is kept and shown as it came, and nobody decides by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewerReason {
    kind: String,
    #[serde(flatten)]
    details: Extra,
}

impl fmt::Display for NewerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (a reason of a newer version)", self.kind.replace('_', " "))
    }
}

/// The reason why a unit has, or gets, its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Reason {
    /// Nobody owned it.
    Unowned,
    /// Its owner vanished.
    OwnerGone {
        /// The one that vanished.
        owner: MemberName,
    },
    /// The same name registered in a new session.
    OwnerReturned,
    /// A handoff went through.
    HandedOver {
        /// The owner that handed it over.
        from: MemberName,
        /// The reason that the strategy gave when it began.
        because: String,
    },
    /// The new owner never worked, so it went back to the old one, which still did.
    GivenBack {
        /// The consumer that did not take it.
        from: MemberName,
    },
    /// The old owner vanished while this one was warming up.
    TookOverWarm {
        /// The one that vanished.
        owner: MemberName,
    },
    /// The mode of its grants changed.
    ModeChanged {
        /// The new one.
        mode: Mode,
    },
    /// Its epoch was reserved for a handoff that somebody removed.
    ReservationLost,
    /// Its topic was gone meanwhile, and is there again.
    TopicReturned,
    /// Its owner stopped before a record, and an operator has resumed it.
    Resumed,
    /// The process of its owner seems to be dead: another consumer prepares for the end of the session.
    OwnerSuspected {
        /// The owner.
        owner: MemberName,
    },
    /// Its owner has not begun it in time.
    NotBegun {
        /// The owner.
        owner: MemberName,
    },
    /// The strategy moves it.
    Strategy {
        /// The strategy's name.
        strategy: String,
        /// The reason that the strategy gave.
        because: String,
    },
    /// A reason that this version does not know.
    #[serde(untagged)]
    Other(NewerReason),
}

impl Reason {
    /// A stable word for metrics and programs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unowned => "unowned",
            Self::OwnerGone { .. } => "owner_gone",
            Self::OwnerReturned => "owner_returned",
            Self::HandedOver { .. } => "handed_over",
            Self::GivenBack { .. } => "given_back",
            Self::TookOverWarm { .. } => "took_over_warm",
            Self::ModeChanged { .. } => "mode_changed",
            Self::ReservationLost => "reservation_lost",
            Self::TopicReturned => "topic_returned",
            Self::Resumed => "resumed",
            Self::OwnerSuspected { .. } => "owner_suspected",
            Self::NotBegun { .. } => "not_begun",
            Self::Strategy { .. } => "strategy",
            Self::Other(_) => "other",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unowned => f.write_str("it had no owner"),
            Self::OwnerGone { owner } => write!(f, "its owner {owner} is gone"),
            Self::OwnerReturned => f.write_str("its owner came back in a new session"),
            Self::HandedOver { from, because } => write!(f, "handed over by {from}: {because}"),
            Self::GivenBack { from } => write!(f, "given back: {from} never took it"),
            Self::TookOverWarm { owner } => write!(f, "it was warming up when the owner {owner} vanished"),
            Self::ModeChanged { mode } => write!(f, "its mode became {mode}"),
            Self::ReservationLost => f.write_str("its handoff vanished while it caught up"),
            Self::TopicReturned => f.write_str("its topic was gone and is there again"),
            Self::Resumed => f.write_str("an operator resumed it"),
            Self::OwnerSuspected { owner } => write!(f, "the process of its owner {owner} seems to be dead"),
            Self::NotBegun { owner } => write!(f, "{owner} has not begun it in time"),
            Self::Strategy { strategy, because } => write!(f, "{strategy}: {because}"),
            Self::Other(unknown) => unknown.fmt(f),
        }
    }
}

/// The reason why a handoff was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CancelReason {
    /// The new owner vanished.
    NewOwnerGone,
    /// The new owner may no longer have it: it drains, or dropped its subscription.
    NotEligible,
    /// The new owner said that it can't.
    WarmFailed {
        /// The reason that the new owner gave.
        reason: String,
    },
    /// An operator stopped it.
    Aborted {
        /// The reason that the operator gave.
        reason: String,
    },
    /// It prepared for the end of the old owner's session, and that one is not suspected to be dead any more.
    OwnerHeard,
    /// It prepared for the end of the old owner's session, and the plan moves the unit to another consumer.
    Replanned,
    /// A phase outlived its deadline.
    Deadline {
        /// The phase.
        phase: Phase,
        /// The longest time that it may last, in milliseconds.
        after_ms: u64,
        /// The routers that it waited for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<MemberName>,
    },
    /// A reason that this version does not know.
    #[serde(untagged)]
    Other(NewerReason),
}

impl CancelReason {
    /// A stable word for metrics and programs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::NewOwnerGone => "new_owner_gone",
            Self::NotEligible => "not_eligible",
            Self::WarmFailed { .. } => "warm_failed",
            Self::Aborted { .. } => "aborted",
            Self::OwnerHeard => "owner_heard",
            Self::Replanned => "replanned",
            Self::Deadline { .. } => "deadline",
            Self::Other(_) => "other",
        }
    }

    /// True if the new owner is passed over for a while, so that the same move is not tried at once again. A freeze that
    /// routers did not answer is not its fault, nor is a drain that the old owner did not end, nor, in `routed`, a record
    /// that the old owner did not end before it, or a catch-up to which the drain left too little of the time for which
    /// requests are held back.
    #[must_use]
    pub const fn is_failure(&self, mode: Mode) -> bool {
        match self {
            Self::NewOwnerGone
            | Self::NotEligible
            | Self::OwnerHeard
            | Self::Replanned
            | Self::Other(_)
            | Self::Deadline { phase: Phase::Freezing | Phase::Draining, .. } => false,
            Self::Deadline { phase: Phase::Ready | Phase::CatchingUp, .. } => !matches!(mode, Mode::Routed),
            Self::WarmFailed { .. } | Self::Aborted { .. } | Self::Deadline { .. } => true,
        }
    }
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewOwnerGone => f.write_str("the new owner is gone"),
            Self::NotEligible => f.write_str("the new owner may no longer have it"),
            Self::WarmFailed { reason } => write!(f, "the new owner could not warm up: {reason}"),
            Self::Aborted { reason } => write!(f, "stopped by an operator: {reason}"),
            Self::OwnerHeard => f.write_str("the owner was heard again"),
            Self::Replanned => f.write_str("the plan moves it to another consumer"),
            Self::Deadline { phase, after_ms, missing } => {
                write!(f, "still {phase} after {after_ms} ms without progress")?;
                for (n, router) in missing.iter().enumerate() {
                    write!(f, "{}{router}", if n == 0 { ", waiting for the routers " } else { ", " })?;
                }
                Ok(())
            }
            Self::Other(unknown) => unknown.fmt(f),
        }
    }
}

/// The reason why a session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FenceReason {
    /// Its registration is gone: the lease ended, or somebody deleted it.
    Gone,
    /// Another session registered under the same name.
    Superseded,
    /// It was told to release a partition and did not, for too long.
    NeverReleased,
    /// It reported no progress in processing for its `max_poll_interval`.
    NoProgress,
    /// The instance that renews it could not do so in time.
    RenewalLate,
    /// It ended its session itself.
    Left,
    /// It was renewed and had no stream for too long, so that it could be told nothing.
    Unattached,
    /// Its client has seen more than the store holds: the store was put back to an earlier state.
    StoreRestored,
    /// Its stream ended, or its heartbeats stopped, and nothing more was heard of it.
    Suspected,
    /// An operator ended it.
    EndedByOperator,
    /// A reason that this version does not know, by its word.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for FenceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "its registration is gone",
            Self::Superseded => "another session registered under its name",
            Self::NeverReleased => "it did not release a partition in time",
            Self::NoProgress => "it made no progress for its max_poll_interval",
            Self::RenewalLate => "its session could not be renewed in time",
            Self::Left => "it left",
            Self::Unattached => "it was renewed and had no stream for too long",
            Self::StoreRestored => "the store was put back to an earlier state",
            Self::Suspected => "nothing was heard of it: its process seemed to be dead",
            Self::EndedByOperator => "an operator ended it",
            Self::Other(word) => {
                return write!(f, "{} (a reason of a newer version)", word.replace('_', " "));
            }
        })
    }
}

/// The reason why planning left a unit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DeferReason {
    /// A record about it can't be read.
    Unreadable {
        /// The reason why it can't be read.
        error: String,
    },
    /// Nobody may have it.
    NobodyMay {
        /// The reason that the strategy gave.
        because: String,
    },
    /// The group has its most handoffs in flight.
    MovesInFlight {
        /// The limit.
        limit: u32,
    },
    /// The consumer that is to have it warms as many as it may.
    Warming {
        /// The consumer.
        consumer: MemberName,
        /// The limit.
        limit: u32,
    },
    /// The last handoff of the unit is not cleared away yet.
    HandoffEnding,
    /// The last handoff of it to that consumer failed, and it is passed over for a while.
    FailedLately {
        /// The consumer.
        consumer: MemberName,
    },
    /// Its last move was cancelled since its owner did not stop in time; the next one waits a while.
    BackingOff {
        /// The time left, in milliseconds.
        left_ms: u64,
    },
    /// The consumer that is to have it takes nothing now: it drains, may come back, or can't be read.
    TargetUnable {
        /// The consumer.
        consumer: MemberName,
    },
    /// Its owner vanished, and may still act: nobody else does before its claim is over.
    ClaimRunning {
        /// The owner.
        owner: MemberName,
        /// The longest time left, in milliseconds; `None`: the store has not said.
        left_ms: Option<u64>,
    },
    /// It is to be granted in a stricter mode, and who owned it before in `overlap` may still act.
    Outlived {
        /// The longest time left, in milliseconds.
        left_ms: u64,
    },
    /// The consumer that is to have it can't keep what its mode promises.
    ModeUnkept {
        /// The consumer.
        consumer: MemberName,
        /// The capability that it lacks.
        lacks: String,
    },
    /// Its owner vanished and may come back.
    AwaitingRejoin {
        /// The owner.
        owner: MemberName,
    },
    /// The process of its owner seems to be dead: it is taken over, or waits for the end of the session.
    OwnerSuspected {
        /// The owner.
        owner: MemberName,
        /// The time until it is taken over, in milliseconds; `None`: the end of its session is waited for.
        left_ms: Option<u64>,
    },
    /// The process of its owner seems to be dead, and more processes than are taken over at a time.
    ManySuspected {
        /// The owner.
        owner: MemberName,
        /// The number of those that seem to be dead, or were taken over lately.
        processes: u32,
        /// The most that are taken over within a time to live.
        limit: u32,
    },
    /// Its owners die one after the other: the end of the session of the last one is waited for.
    OwnersDie {
        /// The last one.
        owner: MemberName,
    },
    /// The store was put back to an earlier state: owners whom its records do not name may still act.
    StoreRestored {
        /// The longest time left, in milliseconds.
        left_ms: u64,
    },
    /// A group of the same name was deleted: owners of it that reach no instance may still act.
    EarlierGroup {
        /// The longest time left, in milliseconds.
        left_ms: u64,
    },
    /// Two consumers stopped before the same record of it, and no operator has resumed it.
    Stopped {
        /// The partition of the unit, as `topic/number`.
        partition: String,
        /// The offset of the record.
        offset: Offset,
        /// The reason of the second one.
        reason: String,
    },
}

impl DeferReason {
    /// Every [`label`](Self::label), in the order of the variants.
    pub const LABELS: [&'static str; 18] = [
        "unreadable",
        "nobody_may",
        "moves_in_flight",
        "warming",
        "handoff_ending",
        "failed_lately",
        "target_unable",
        "claim_running",
        "outlived",
        "mode_unkept",
        "awaiting_rejoin",
        "backing_off",
        "store_restored",
        "owner_suspected",
        "many_suspected",
        "owners_die",
        "earlier_group",
        "stopped",
    ];

    /// True if it only waits for other handoffs to end.
    #[must_use]
    pub const fn is_for_room(&self) -> bool {
        matches!(self, Self::MovesInFlight { .. } | Self::Warming { .. } | Self::HandoffEnding)
    }

    /// A stable word for metrics and programs.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        Self::LABELS[match self {
            Self::Unreadable { .. } => 0,
            Self::NobodyMay { .. } => 1,
            Self::MovesInFlight { .. } => 2,
            Self::Warming { .. } => 3,
            Self::HandoffEnding => 4,
            Self::FailedLately { .. } => 5,
            Self::TargetUnable { .. } => 6,
            Self::ClaimRunning { .. } => 7,
            Self::Outlived { .. } => 8,
            Self::ModeUnkept { .. } => 9,
            Self::AwaitingRejoin { .. } => 10,
            Self::BackingOff { .. } => 11,
            Self::StoreRestored { .. } => 12,
            Self::OwnerSuspected { .. } => 13,
            Self::ManySuspected { .. } => 14,
            Self::OwnersDie { .. } => 15,
            Self::EarlierGroup { .. } => 16,
            Self::Stopped { .. } => 17,
        }]
    }
}

impl fmt::Display for DeferReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { error } => write!(f, "a record about it can't be read: {error}"),
            Self::NobodyMay { because } => write!(f, "nobody may have it: {because}"),
            Self::MovesInFlight { limit } => write!(f, "the group's {limit} moves are in flight"),
            Self::Warming { consumer, limit } => write!(f, "{consumer} warms {limit} already"),
            Self::HandoffEnding => f.write_str("its last handoff is not cleared away yet"),
            Self::BackingOff { left_ms } => {
                write!(
                    f,
                    "its owner did not stop in time for the last move, and the next one waits {left_ms} ms"
                )
            }
            Self::FailedLately { consumer } => write!(f, "the last move of it to {consumer} failed"),
            Self::TargetUnable { consumer } => write!(f, "{consumer} takes nothing now"),
            Self::ClaimRunning { owner, left_ms: Some(left) } => {
                write!(f, "its owner {owner} vanished and may still act for {left} ms")
            }
            Self::ClaimRunning { owner, left_ms: None } => {
                write!(f, "its owner {owner} vanished, and the store has not said how long it may still act")
            }
            Self::Outlived { left_ms } => {
                write!(
                    f,
                    "its stricter mode waits for those who owned it before: they may act for {left_ms} ms"
                )
            }
            Self::ModeUnkept { consumer, lacks } => write!(f, "{consumer} lacks {lacks} for its mode"),
            Self::AwaitingRejoin { owner } => write!(f, "its owner {owner} may come back"),
            Self::OwnerSuspected { owner, left_ms: Some(left) } => {
                write!(f, "its owner {owner} is suspected to be dead and taken over in {left} ms")
            }
            Self::OwnerSuspected { owner, left_ms: None } => {
                write!(f, "its owner {owner} is suspected to be dead, and its session has still to end")
            }
            Self::ManySuspected { owner, processes, limit } => write!(
                f,
                "its owner {owner} is suspected to be dead, but so are {processes} processes at once, and at most \
                 {limit} are taken over: its session has still to end"
            ),
            Self::OwnersDie { owner } => {
                write!(f, "its owners die one after the other: the session of {owner} has still to end")
            }
            Self::Stopped { partition, offset, reason } => write!(
                f,
                "two consumers stopped before the record at offset {offset} of {partition}, and nobody has resumed it: \
                 {reason}"
            ),
            Self::EarlierGroup { left_ms } => {
                write!(
                    f,
                    "a group of this name was deleted: owners of it that reach no instance may act for {left_ms} ms"
                )
            }
            Self::StoreRestored { left_ms } => {
                write!(
                    f,
                    "the store was put back to an earlier state: owners whom it does not name may act for {left_ms} ms"
                )
            }
        }
    }
}
