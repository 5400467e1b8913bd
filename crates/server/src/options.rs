//! The settings of an instance: [`Options`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_core::lint::Violation;
use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_strategies::Registry;

use crate::clock::WallClock;

/// The settings of one instance. Listening sockets and certificates come with [`serve`](crate::serve).
#[derive(Debug, Clone)]
pub struct Options {
    /// Names the instance, uniquely among those of one store.
    pub id: String,
    /// The URL at which clients and other instances reach it.
    pub address: String,
    /// The prefix of all keys; ends with a slash. Default `/kafka-assigner/`.
    pub prefix: String,
    /// The time to live of the leases of leaders and instances; at least 2 s on etcd. Default 5 s.
    pub leader_ttl: Duration,
    /// True if the first Register of a group creates it. Default true.
    pub auto_create: bool,
    /// The configuration of groups that are created so.
    pub group_defaults: GroupConfig,
    /// The most streams that this instance serves; default 20 000, some 500 MB of memory.
    pub max_streams: usize,
    /// The bounds of what is stored.
    pub quotas: Quotas,
    /// The strategies that groups may choose from; all instances of one store must have the same. Default: those
    /// of `kafka-assigner-strategies`.
    pub strategies: Registry,
    /// The time between two looks of the instance at the topics of all groups that it leads; default 10 s. Up to a tenth
    /// is added by chance.
    pub topic_refresh: Duration,
    /// The time for which a request waits for the view to come as far as it must; default 5 s.
    pub view_patience: Duration,
    /// The time for which the view may be out of touch with the store before the streams are told, and new ones are refused;
    /// default 5 s, and at least 4 s: a view that nothing is wrong with is certain to be complete every 3 s.
    pub stream_patience: Duration,
    /// The time after the end of a consumer's last stream here at which it is suspected to be dead, unless it is heard;
    /// default 1 s. Zero: never, and neither is one whose heartbeats stop.
    pub suspect_after: Duration,
    /// The start of the instance's random numbers. Take a random one, except to repeat a run.
    pub seed: u64,
    /// The time by which the clock that leaders decide by runs faster than the runtime's time, in millionths, or slower
    /// where it is negative; above -1 000 000. Default 0; other values are for simulations, as clocks of two machines differ
    /// by up to a few hundred.
    pub clock_drift_ppm: i32,
    /// The wall clock, for what people read.
    pub wall: WallClock,
    /// The listener for invariants that a leader's pass breaks. Default `None`: then passes are linted in debug builds
    /// only, where a violation panics.
    pub on_violation: Option<ViolationListener>,
}

/// The bounds of what callers may have stored. A call beyond one is refused with its name; what is there already stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// The most groups; beyond it, consumers create none, and operators still do. Default 10 000.
    pub max_groups: usize,
    /// The most consumers and routers that are registered in one group, each for itself. Default 10 000.
    pub max_members: usize,
    /// The most bytes of one registration; default 64 KiB, some 800 topics with names of 80 characters. With the default
    /// of `max_members` a group stays far below the 2 GiB of etcd's default quota, where registrations are of the usual size.
    pub max_registration_bytes: usize,
    /// The most partitions of one group, of all its topics. Default 1 000 000.
    pub max_partitions: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            max_groups: 10_000,
            max_members: 10_000,
            max_registration_bytes: 64 * 1_024,
            max_partitions: 1_000_000,
        }
    }
}

/// A function that is called with each invariant that a leader's pass breaks, before the pass is written.
#[derive(Clone)]
pub struct ViolationListener(Arc<dyn Fn(&Violation) + Send + Sync>);

impl ViolationListener {
    /// The listener that calls `hear`, on a thread of the runtime or one for long work; it should return at once.
    pub fn new(hear: impl Fn(&Violation) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Calls the listener.
    pub(crate) fn hear(&self, violation: &Violation) {
        (self.0)(violation);
    }
}

impl fmt::Debug for ViolationListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ViolationListener")
    }
}

impl Options {
    /// The defaults for the instance `id`, which is reached at `address`.
    #[must_use]
    pub fn new(id: impl Into<String>, address: impl Into<String>, seed: u64) -> Self {
        Self {
            id: id.into(),
            address: address.into(),
            prefix: DEFAULT_PREFIX.to_owned(),
            leader_ttl: Duration::from_secs(5),
            auto_create: true,
            group_defaults: GroupConfig::default(),
            max_streams: 20_000,
            quotas: Quotas::default(),
            strategies: Registry::builtin().clone(),
            topic_refresh: Duration::from_secs(10),
            view_patience: Duration::from_secs(5),
            stream_patience: Duration::from_secs(5),
            suspect_after: Duration::from_secs(1),
            seed,
            clock_drift_ppm: 0,
            wall: WallClock::system(),
            on_violation: None,
        }
    }
}
