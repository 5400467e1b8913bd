//! The options of a member.

use std::time::Duration;

use crate::{OfferedStrategy, RebalanceManner};

/// The options of a member of the classic protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicOptions {
    /// The group.
    pub group: String,
    /// The instance id of a static member, which keeps its partitions over a restart; `None`: a dynamic member.
    pub instance: Option<String>,
    /// The rack; `None`: not known.
    pub rack: Option<String>,
    /// The strategies, the preferred one first; not empty.
    pub strategies: Vec<OfferedStrategy>,
    /// The time after which a member without a sign of life is gone; 45 s. Brokers take 6 s to 30 min.
    pub session_timeout: Duration,
    /// The time between two heartbeats; 3 s. Less than a third of the session.
    pub heartbeat_interval: Duration,
    /// The time that members have to join again, and the application to ask for records; 5 min.
    pub rebalance_timeout: Duration,
}

impl ClassicOptions {
    /// A dynamic member without a rack, with the times of Kafka's own client.
    #[must_use]
    pub const fn new(group: String, strategies: Vec<OfferedStrategy>) -> Self {
        Self {
            group,
            instance: None,
            rack: None,
            strategies,
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_secs(300),
        }
    }

    /// The manner that all strategies can bear, as in Kafka's own client: one that is eager makes the member so.
    #[must_use]
    pub fn manner(&self) -> RebalanceManner {
        let is_eager = self.strategies.iter().any(|offered| offered.manner == RebalanceManner::Eager);
        if is_eager { RebalanceManner::Eager } else { RebalanceManner::Cooperative }
    }

    /// The broker holds the answer to a join back for as long as others have to join.
    pub(super) const fn patience(&self) -> Duration {
        self.rebalance_timeout.saturating_add(Duration::from_secs(5))
    }

    /// An answer to a heartbeat must leave time for another two.
    pub(super) fn beat_patience(&self) -> Duration {
        (self.session_timeout / 3).max(Duration::from_secs(1))
    }
}
