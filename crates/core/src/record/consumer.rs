//! The records of consumers: their registrations, and the marks of sessions that stopped.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use kafka_assigner_types::mode::Mode;

use super::{BegunReport, Extra, FailingReport, Version};
use crate::reason::FenceReason;
use kafka_assigner_types::id::{Epoch, HandoffId, Incarnation};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::TopicName;

/// `consumers/{name}`: a consumer's registration, bound to the lease of its session.
///
/// It is created once per session. Its existence is the consumer's presence, whatever it contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consumer {
    /// The version of the record.
    pub version: Version,
    /// The session.
    pub incarnation: Incarnation,
    /// The granted time to live of the session's lease, in milliseconds.
    pub ttl_ms: u64,
    /// The topics it takes; empty: all topics of the group.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub topics: BTreeSet<TopicName>,
    /// The most partitions it takes; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_partitions: Option<u32>,
    /// Its capacity, relative to that of others; `None`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// The rack or zone it runs in; empty: unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rack: String,
    /// The label of the version that is deployed there; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub generation: String,
    /// The time for which the client's own processing may stand still before the session is ended; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_poll_interval_ms: Option<u64>,
    /// Its readiness to take and keep partitions.
    #[serde(default)]
    pub standing: Standing,
    /// The side that keeps the lease alive.
    pub renewal: Renewal,
    /// The time, in milliseconds from its last confirmation, for which it may go on in `overlap` while it hears that the store
    /// can't be reached; 0: not at all. One that is not told may be the longest.
    #[serde(default = "super::longest_outage_grace_ms")]
    pub outage_grace_ms: u64,
    /// The capabilities of the client beyond a minimal client's three calls.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// The progress of its warm-ups, by partition as `topic/number`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub progress: BTreeMap<String, Progress>,
    /// The handoffs that wait for the record that this consumer has in the works, by partition ("topic/number"): it has
    /// been told to stop, or has not finished its first record. At most [`MOST_PROGRESS`](Self::MOST_PROGRESS).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub busy: BTreeMap<String, HandoffId>,
    /// The weakest mode of its group and topics beside which it registers; `None`: any. Planning does not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_mode: Option<Mode>,
    /// Its report about the grants that it has not begun; `None`: it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<BegunReport>,
    /// Its report about the partitions that it owns and whose next record fails. An instance of an earlier version keeps it as it
    /// is, and what it says of other grants than the present ones does not count.
    #[serde(default, skip_serializing_if = "FailingReport::is_empty")]
    pub failing: FailingReport,
    /// The mark that its process seems to be dead; `None`: nothing speaks for it. Whoever confirms a heartbeat or a resume
    /// of the session removes it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspected: Option<Suspicion>,
    /// The partitions ("topic/number") that it has to drop, each with the highest epoch of a grant that is over for it whatever
    /// it has heard, until it says that it has. At most [`MOST_FENCED`](Self::MOST_FENCED). It is told with each heartbeat.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fenced: BTreeMap<String, Epoch>,
    /// The address for requests for its partitions, for routers; empty: it takes none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub endpoint: String,
    /// The instance that registered it, for people.
    #[serde(default)]
    pub instance: String,
    /// The client's description of itself (version, host), for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The process that it is a part of, in the client's words; empty: a process of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub process: String,
    /// The caller that opened the session, as its certificate or token says; empty: it had no name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caller: String,
    /// The time at which the session began.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The partitions that a registered consumer may have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum Standing {
    /// Takes partitions and keeps them.
    #[default]
    Active,
    /// Hands everything over and takes nothing.
    Draining,
    /// Its session is being ended by force: heartbeats are answered `Fenced` and do not renew the lease.
    Ending(FenceReason),
}

/// The side that keeps a session's lease alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Renewal {
    /// The client, with heartbeats; it has a claim clock of its own.
    Client,
    /// The instance that holds its stream; for minimal clients, in the mode `overlap` only.
    Server,
}

/// Something that a client can do and an older one may not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// It understands the opening snapshot of all roles.
    Snapshot,
    /// It says when it processes a partition that it was handed.
    Taken,
    /// It stops when it is told to, and says where.
    Drain,
    /// It reads the rest of the log before it becomes the owner, and says when it has.
    CatchUp,
    /// It sends a heartbeat at once when its stream ended, and each second until it has another one.
    Present,
    /// It ends the record in the works before a move holds requests back, and says that it has.
    Rest,
    /// It says in each heartbeat which of its grants it has not begun.
    Begun,
    /// It drops the partitions that the answers to its heartbeats name as fenced, and says that it has.
    Fence,
    /// One that a newer version knows: it is passed over, and kept as it came.
    #[serde(untagged)]
    Other(String),
}

/// The mark of a session whose process seems to be dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// The sign of death.
    pub sign: DeathSign,
    /// The instance that saw it.
    pub by: String,
    /// The number of the stream that ended, within that instance; 0 where none did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stream: u64,
    /// The rest of the session's lease when the mark was made, in milliseconds: the last sign of life is a time to live
    /// less this rest before the mark.
    pub rest_ms: u64,
    /// The time of the mark, for people.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// A sign of the death of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathSign {
    /// Its side closed the session's last stream, and no heartbeat followed.
    Detached,
    /// Its heartbeats stopped, at an instance that could reach the store all the time.
    Silent,
    /// A sign that this version does not know: nobody decides by it.
    #[serde(untagged)]
    Other(String),
}

const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The progress of one warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The handoff that it warms for.
    pub handoff: HandoffId,
    /// The amount that is done, in the consumer's own unit; a higher number is progress.
    pub done: u64,
    /// The whole amount, where the consumer knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The time that the rest will take at the consumer's pace, in milliseconds, for people; `None` = it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Consumer {
    /// The most partitions whose progress one registration carries, so that it stays far below the store's
    /// largest value; warm-ups beyond it keep to their deadline.
    pub const MOST_PROGRESS: usize = 1_000;

    /// A registration for a session that begins now: active, with nothing optional.
    #[must_use]
    pub fn new(incarnation: Incarnation, ttl_ms: u64, renewal: Renewal, since: WallMillis) -> Self {
        Self {
            version: Version,
            incarnation,
            ttl_ms,
            topics: BTreeSet::new(),
            max_partitions: None,
            capacity: None,
            rack: String::new(),
            generation: String::new(),
            max_poll_interval_ms: None,
            standing: Standing::Active,
            renewal,
            outage_grace_ms: 0,
            capabilities: BTreeSet::new(),
            progress: BTreeMap::new(),
            busy: BTreeMap::new(),
            least_mode: None,
            begun: None,
            failing: FailingReport::default(),
            suspected: None,
            fenced: BTreeMap::new(),
            endpoint: String::new(),
            instance: String::new(),
            client: String::new(),
            process: String::new(),
            caller: String::new(),
            since,
            extra: Extra::new(),
        }
    }

    /// True if it takes partitions of `topic`.
    #[must_use]
    pub fn subscribes(&self, topic: &TopicName) -> bool {
        self.topics.is_empty() || self.topics.contains(topic)
    }

    /// True if it can keep what `mode` promises: a strict mode needs a claim clock of its own and the calls of the
    /// phases between `Ready` and `Complete`.
    #[must_use]
    pub fn keeps(&self, mode: Mode) -> bool {
        self.lacks(mode).is_none()
    }

    /// The mode that it demands at least, where `mode` is weaker.
    #[must_use]
    pub fn demands_more_than(&self, mode: Mode) -> Option<Mode> {
        self.least_mode.filter(|least| mode < *least)
    }

    /// The capability that it lacks for `mode`, for people; `None` where it lacks nothing.
    #[must_use]
    pub fn lacks(&self, mode: Mode) -> Option<&'static str> {
        Self::lacking(mode, self.renewal, &self.capabilities)
    }

    /// The capability that a client with `capabilities` lacks for `mode`.
    #[must_use]
    pub fn lacking(
        mode: Mode,
        renewal: Renewal,
        capabilities: &BTreeSet<Capability>,
    ) -> Option<&'static str> {
        let has = |capability| capabilities.contains(&capability);
        if !mode.is_strict() {
            return None;
        }
        if renewal == Renewal::Server {
            return Some("heartbeats of its own: the server renews its session");
        }
        [
            (Capability::Taken, "the capability `taken`"),
            (Capability::Drain, "the capability `drain`"),
            (Capability::CatchUp, "the capability `catch_up`"),
        ]
        .into_iter()
        .find_map(|(capability, what)| (!has(capability)).then_some(what))
    }

    /// The mark that its process seems to be dead, of a kind that this version knows; `None` once its session is being
    /// ended.
    #[must_use]
    pub fn suspicion(&self) -> Option<&Suspicion> {
        let is_known = |mark: &&Suspicion| !matches!(mark.sign, DeathSign::Other(_));
        self.suspected.as_ref().filter(is_known).filter(|_| !self.is_ending())
    }

    /// True if the session is being ended.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        matches!(self.standing, Standing::Ending(_))
    }
}

/// `rejoins/{name}`: a session said itself that it is over and has stopped, and maybe that its name comes back. Then its
/// partitions are kept for the name until this record's lease runs out or another session owns them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejoin {
    /// The version of the record.
    pub version: Version,
    /// The session that ended.
    pub incarnation: Incarnation,
    /// True if a successor of its name is expected.
    #[serde(default = "comes_back")]
    pub comes_back: bool,
    /// The time at which it ended.
    pub since: WallMillis,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

const fn comes_back() -> bool {
    true
}

impl Rejoin {
    /// The mark that the session `incarnation` leaves behind.
    #[must_use]
    pub fn new(incarnation: Incarnation, comes_back: bool, since: WallMillis) -> Self {
        Self { version: Version, incarnation, comes_back, since, extra: Extra::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{decode, encode};

    #[test]
    fn a_capability_of_a_newer_version_is_passed_over_and_kept() {
        let stored = br#"{"version":1,"incarnation":"a-1","ttl_ms":30000,"renewal":"client","since":0,
            "capabilities":["drain","fly"]}"#;
        let consumer: Consumer = decode(stored).unwrap();
        assert!(consumer.capabilities.contains(&Capability::Drain));
        let again: Consumer = decode(&encode(&consumer)).unwrap();
        assert_eq!(again.capabilities, [Capability::Drain, Capability::Other("fly".to_owned())].into());
    }
}
