//! The key layout: the place of each record.
//!
//! ```text
//! {prefix}~/cluster
//!           instances/{id}                            leased
//!           groups/{group}
//!           gone/{group}
//! {prefix}{group}/consumers/{name}                    leased
//!                 rejoins/{name}                      leased
//!                 routers/{name}                      leased
//!                 assignments/{topic}/{partition}
//!                 handoffs/{topic}/{partition}
//!                 handoff_acks/{topic}/{partition}/{router}
//!                 handoff_intents/{topic}/{partition}
//!                 config/group
//!                 config/topics/{topic}
//!                 assigner/leader                     leased
//!                 assigner/history
//! ```
//!
//! Records that belong to no group lie below `~`, which is no letter of a name.
//!
//! The names that go into a key are validated types, so nothing outside the group's prefix can be written.

use bytes::Bytes;

use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::{GroupName, MemberName, TopicName};

/// The prefix of all groups where none is configured.
pub const DEFAULT_PREFIX: &str = "/kafka-assigner/";

/// A group's place in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    group: GroupName,
    prefix: String,
}

/// The meaning of a key below a group's prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A consumer's registration.
    Consumer(MemberName),
    /// A name whose partitions are kept until its successor registers.
    Rejoin(MemberName),
    /// The owner of a partition.
    Assignment(TopicPartition),
    /// A handoff, or a reference to the one that leads its set.
    Handoff(TopicPartition),
    /// A router's registration.
    Router(MemberName),
    /// A router's ack of the handoff at a partition.
    RouterAck(TopicPartition, MemberName),
    /// A request about the handoff at the same partition.
    Intent(TopicPartition),
    /// The group's configuration.
    GroupConfig,
    /// A topic of the group.
    Topic(TopicName),
    /// The election's key.
    Leader,
    /// The note of the store's history to which the group's claims belong.
    History,
}

/// The places of what belongs to no group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterLayout(String);

impl ClusterLayout {
    /// The places under `prefix`, which ends with a slash.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self(format!("{prefix}~/"))
    }

    /// The key of the store's identity.
    #[must_use]
    pub fn cluster(&self) -> Bytes {
        self.at("cluster")
    }

    /// The prefix of the registrations of instances.
    #[must_use]
    pub fn instances(&self) -> Bytes {
        self.at("instances/")
    }

    /// The key of the registration of the instance `id`.
    #[must_use]
    pub fn instance(&self, id: &str) -> Bytes {
        self.at(&format!("instances/{id}"))
    }

    /// The prefix of the directory of groups.
    #[must_use]
    pub fn groups(&self) -> Bytes {
        self.at("groups/")
    }

    /// The key that stands for `group` in the directory.
    #[must_use]
    pub fn group(&self, group: &GroupName) -> Bytes {
        self.at(&format!("groups/{group}"))
    }

    /// The key that tells how long claims of a deleted `group` may run.
    #[must_use]
    pub fn gone(&self, group: &GroupName) -> Bytes {
        self.at(&format!("gone/{group}"))
    }

    fn at(&self, below: &str) -> Bytes {
        Bytes::from(format!("{}{below}", self.0))
    }
}

impl Layout {
    /// The layout of `group` under `prefix`, which ends with a slash.
    #[must_use]
    pub fn new(prefix: &str, group: GroupName) -> Self {
        Self { prefix: format!("{prefix}{group}/"), group }
    }

    /// The group.
    #[must_use]
    pub const fn group(&self) -> &GroupName {
        &self.group
    }

    /// The prefix of all of the group's keys.
    #[must_use]
    pub fn prefix(&self) -> Bytes {
        Bytes::copy_from_slice(self.prefix.as_bytes())
    }

    /// The key outside of the group's prefix that tells how long claims of a deleted group of this name may run.
    #[must_use]
    pub fn gone(&self) -> Bytes {
        let below = format!("{}/", self.group);
        ClusterLayout::new(self.prefix.strip_suffix(&below).unwrap_or_default()).gone(&self.group)
    }

    /// The bytes of a key.
    #[must_use]
    pub fn encode(&self, key: &Key) -> Bytes {
        let below = match key {
            Key::Consumer(name) => format!("consumers/{name}"),
            Key::Rejoin(name) => format!("rejoins/{name}"),
            Key::Assignment(partition) => format!("assignments/{partition}"),
            Key::Handoff(partition) => format!("handoffs/{partition}"),
            Key::Router(name) => format!("routers/{name}"),
            Key::RouterAck(partition, router) => format!("handoff_acks/{partition}/{router}"),
            Key::Intent(partition) => format!("handoff_intents/{partition}"),
            Key::GroupConfig => "config/group".to_owned(),
            Key::Topic(topic) => format!("config/topics/{topic}"),
            Key::Leader => "assigner/leader".to_owned(),
            Key::History => "assigner/history".to_owned(),
        };
        Bytes::from(format!("{}{below}", self.prefix))
    }

    /// The prefix of all registrations of consumers.
    #[must_use]
    pub fn consumers(&self) -> Bytes {
        Bytes::from(format!("{}consumers/", self.prefix))
    }

    /// The prefix of all assignments.
    #[must_use]
    pub fn assignments(&self) -> Bytes {
        Bytes::from(format!("{}assignments/", self.prefix))
    }

    /// The prefix of everything that routers say of the handoff at `partition`.
    #[must_use]
    pub fn router_acks(&self, partition: &TopicPartition) -> Bytes {
        Bytes::from(format!("{}handoff_acks/{partition}/", self.prefix))
    }

    /// The meaning of the bytes; `None` for a key of another group, or one that this version does not know.
    #[must_use]
    pub fn decode(&self, key: &[u8]) -> Option<Key> {
        let below = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        let (folder, rest) = below.split_once('/')?;
        match folder {
            "consumers" => rest.parse().ok().map(Key::Consumer),
            "rejoins" => rest.parse().ok().map(Key::Rejoin),
            "assignments" => decode_partition(rest).map(Key::Assignment),
            "handoffs" => decode_partition(rest).map(Key::Handoff),
            "routers" => rest.parse().ok().map(Key::Router),
            "handoff_acks" => {
                let (partition, router) = rest.rsplit_once('/')?;
                Some(Key::RouterAck(decode_partition(partition)?, router.parse().ok()?))
            }
            "handoff_intents" => decode_partition(rest).map(Key::Intent),
            "config" if rest == "group" => Some(Key::GroupConfig),
            "config" => rest.strip_prefix("topics/")?.parse().ok().map(Key::Topic),
            "assigner" if rest == "leader" => Some(Key::Leader),
            "assigner" if rest == "history" => Some(Key::History),
            _ => None,
        }
    }
}

/// The partition that `text`, "topic/number", names; `None` = none.
pub(crate) fn decode_partition(text: &str) -> Option<TopicPartition> {
    let (topic, number) = text.split_once('/')?;
    let partition: u32 = number.parse().ok()?;
    // "007" and "+7" would name the partition of "7": one partition, one key.
    (partition.to_string() == number).then_some(())?;
    Some(TopicPartition::new(topic.parse().ok()?, partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::new(DEFAULT_PREFIX, GroupName::new("orders").unwrap())
    }

    #[test]
    fn every_key_reads_back_as_what_it_was() {
        let partition = TopicPartition::new(TopicName::new("a.b").unwrap(), 7);
        let name = MemberName::new("c-1").unwrap();
        for key in [
            Key::Consumer(name.clone()),
            Key::Rejoin(name.clone()),
            Key::Router(name.clone()),
            Key::RouterAck(partition.clone(), name),
            Key::Assignment(partition.clone()),
            Key::Handoff(partition.clone()),
            Key::Intent(partition),
            Key::GroupConfig,
            Key::Topic(TopicName::new("group").unwrap()),
            Key::Leader,
            Key::History,
        ] {
            assert_eq!(layout().decode(&layout().encode(&key)), Some(key));
        }
    }

    #[test]
    fn what_belongs_to_no_group_lies_where_no_group_can() {
        let cluster = ClusterLayout::new(DEFAULT_PREFIX);
        assert_eq!(cluster.cluster(), "/kafka-assigner/~/cluster");
        assert_eq!(cluster.instance("i-1"), "/kafka-assigner/~/instances/i-1");
        assert_eq!(cluster.group(layout().group()), "/kafka-assigner/~/groups/orders");
        assert_eq!(layout().gone(), "/kafka-assigner/~/gone/orders");
        assert!(GroupName::new("~").is_err());
    }

    #[test]
    fn a_foreign_or_malformed_key_stands_for_nothing() {
        for key in [
            "/kafka-assigner/orders2/consumers/a",
            "/kafka-assigner/orders/consumers/a/b",
            "/kafka-assigner/orders/consumers/",
            "/kafka-assigner/orders/assignments/t/007",
            "/kafka-assigner/orders/assignments/t/+7",
            "/kafka-assigner/orders/assignments/t",
            "/kafka-assigner/orders/unheard/of",
            "/kafka-assigner/orders/",
        ] {
            assert_eq!(layout().decode(key.as_bytes()), None, "{key}");
        }
    }
}
