//! The options of a member.

use std::time::Duration;

/// The options of a member of a consumer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupOptions {
    /// The group.
    pub group: String,
    /// The id of the member, which it chooses itself and keeps (KIP-1082); unique, such as a UUID.
    pub member_id: String,
    /// The instance id of a static member; `None`: a dynamic member.
    pub instance: Option<String>,
    /// The rack; `None`: not known.
    pub rack: Option<String>,
    /// The strategy that is asked of the broker; `None`: its own first one.
    pub server_assignor: Option<String>,
    /// The time that the member has to give partitions up, and the application to ask for records; 5 min.
    pub rebalance_timeout: Duration,
}

impl ConsumerGroupOptions {
    /// A dynamic member without a rack, with the times of Kafka's own client.
    #[must_use]
    pub const fn new(group: String, member_id: String) -> Self {
        let rebalance_timeout = Duration::from_secs(300);
        Self { group, member_id, instance: None, rack: None, server_assignor: None, rebalance_timeout }
    }
}
