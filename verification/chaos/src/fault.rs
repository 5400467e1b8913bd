//! The faults of a run.

use std::time::Duration;

use kafka_assigner_rig::Disturbance;
use serde::Serialize;

/// The longest that a fault lasts, in milliseconds: past the three seconds that sessions and leaderships live.
pub(crate) const LONGEST_MS: u64 = 6_000;

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
}

/// Less than a heartbeat may take, several times in a row.
const LATE: Duration = Duration::from_millis(150);

impl Fault {
    /// What befalls consumers, or their links.
    pub(crate) const OF_CONSUMERS: &[Self] = &[
        Self::ConsumerKilled,
        Self::ConsumerFrozen,
        Self::LeaseRevoked,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// What befalls instances, or their links.
    pub(crate) const OF_INSTANCES: &[Self] = &[
        Self::InstanceKilled,
        Self::LeaderKilled,
        Self::InstanceFrozen,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// What befalls routers, or their links.
    pub(crate) const OF_ROUTERS: &[Self] = &[
        Self::RouterKilled,
        Self::RouterFrozen,
        Self::LinkCut,
        Self::RequestsHeld,
        Self::AnswersLost,
        Self::LinkSlow,
    ];

    /// What befalls etcd.
    pub(crate) const OF_ETCD: &[Self] = &[Self::EtcdMemberKilled, Self::EtcdCompacted];

    /// What is wrong with a link, where it is one that suffers.
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
            // Past the three seconds that sessions and leaderships live.
            Self::ConsumerFrozen | Self::InstanceFrozen | Self::RouterFrozen => (3_500, LONGEST_MS),
            // Before and after their end.
            _ => (500, 5_000),
        }
    }
}
