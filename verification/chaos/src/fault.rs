//! The faults of a run.

use std::time::Duration;

use kafka_assigner_rig::Disturbance;
use serde::Serialize;

/// The longest that a fault lasts of which work may suffer, in milliseconds: past the five seconds that sessions live.
pub(crate) const LONGEST_MS: u64 = 8_000;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// A consumer is killed, and started again under its name.
    ConsumerKilled,
    /// A consumer is stopped from running for longer than its session lives.
    ConsumerFrozen,
    /// The lease of a consumer's session is revoked by somebody outside, and the consumer hears of it late.
    LeaseRevoked,
    /// An instance is killed, and another one started in its place.
    InstanceKilled,
    /// The same, and it led.
    LeaderKilled,
    /// An instance is stopped from running for longer than a leadership lives.
    InstanceFrozen,
    /// Nothing gets through.
    LinkCut,
    /// Requests don't get through; answers do.
    RequestsHeld,
    /// Requests get through; answers don't.
    AnswersLost,
    /// Everything gets through late.
    LinkSlow,
    /// A router is killed, and started again under its name.
    RouterKilled,
    /// A router is stopped from running for longer than its session lives.
    RouterFrozen,
    /// A member of etcd is killed, and started again.
    EtcdMemberKilled,
    /// The history of etcd is compacted up to the present.
    EtcdCompacted,
    /// An instance, and nobody else, reaches no member of etcd.
    EtcdCutOff,
    /// A topic is deleted, and another one created under its name.
    TopicRecreated,
}

/// Less than a heartbeat may take, several times in a row.
const LATE: Duration = Duration::from_millis(150);

impl Fault {
    /// The faults of consumers, or of their links.
    pub(crate) const OF_CONSUMERS: &[Self] = &[
        Self::ConsumerKilled,
        Self::ConsumerFrozen,
        Self::LeaseRevoked,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// The faults of instances, or of their links.
    pub(crate) const OF_INSTANCES: &[Self] = &[
        Self::InstanceKilled,
        Self::LeaderKilled,
        Self::InstanceFrozen,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// The faults of routers, or of their links.
    pub(crate) const OF_ROUTERS: &[Self] = &[
        Self::RouterKilled,
        Self::RouterFrozen,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// The faults of etcd.
    pub(crate) const OF_ETCD: &[Self] = &[Self::EtcdMemberKilled, Self::EtcdCompacted];

    /// The faults of the connections of one instance to etcd, which last far longer than anything else: whoever hangs
    /// on it has to notice.
    pub(crate) const OF_WAYS: &[Self] = &[Self::EtcdCutOff];

    /// The faults of Kafka.
    pub(crate) const OF_KAFKA: &[Self] = &[Self::TopicRecreated];

    /// The disturbance of a link, where it is a link that suffers.
    pub(crate) const fn disturbance(self) -> Option<Disturbance> {
        match self {
            Self::LinkCut => Some(Disturbance::Cut),
            Self::RequestsHeld => Some(Disturbance::RequestsHeld),
            Self::AnswersLost => Some(Disturbance::AnswersLost),
            Self::LinkSlow => Some(Disturbance::Slow(LATE)),
            _ => None,
        }
    }

    /// The shortest and the longest time that it lasts, in milliseconds.
    pub(crate) const fn lasts_ms(self) -> (u64, u64) {
        match self {
            Self::EtcdCompacted => (0, 0),
            // Until its holder hears of it: before and after its claim runs out, after two seconds.
            Self::LeaseRevoked => (0, 3_000),
            // Past the five seconds that sessions live.
            Self::ConsumerFrozen | Self::RouterFrozen => (5_500, LONGEST_MS),
            // Past the three seconds that leaderships live.
            Self::InstanceFrozen => (3_500, 6_000),
            // Before and after another one takes over, which is three seconds after the end.
            Self::ConsumerKilled => (500, LONGEST_MS),
            Self::EtcdCutOff => (60_000, 60_000),
            // Until everybody has noticed, and is at work on the new one.
            Self::TopicRecreated => (40_000, 45_000),
            // Before and after their end.
            _ => (500, 5_000),
        }
    }
}
