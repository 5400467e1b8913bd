//! The reasons for which planning leaves units as they are: [`DeferReason`].

use std::fmt;

use serde::{Deserialize, Serialize};

use kafka_assigner_types::name::MemberName;

/// The reason why planning left a unit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DeferReason {
    /// A record about it can't be read.
    Unreadable {
        /// What is wrong with it.
        error: String,
    },
    /// Nobody may have it.
    NobodyMay {
        /// What the strategy said.
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
        /// How long, in milliseconds.
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
        /// How long at most, in milliseconds; `None`: the store has not said.
        left_ms: Option<u64>,
    },
    /// It is to be granted in a stricter mode, and who owned it before in `overlap` may still act.
    Outlived {
        /// How long at most, in milliseconds.
        left_ms: u64,
    },
    /// The consumer that is to have it can't keep what its mode promises.
    ModeUnkept {
        /// The consumer.
        consumer: MemberName,
        /// What it lacks.
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
        /// How long at most, in milliseconds.
        left_ms: u64,
    },
}

impl DeferReason {
    /// Every [`label`](Self::label), in the order of the variants.
    pub const LABELS: [&'static str; 16] = [
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
            Self::StoreRestored { left_ms } => {
                write!(
                    f,
                    "the store was put back to an earlier state: owners whom it does not name may act for {left_ms} ms"
                )
            }
        }
    }
}
