//! The groups of a cluster.

use kafka_assigner_kafka::messages::ListedGroup;
use serde::{Serialize, Serializer};

use crate::kafka_groups::asker::BrokerLists;
use crate::kafka_groups::error::words;
use crate::kafka_groups::kind::KafkaGroupKind;

/// A group of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct ListedKafkaGroup {
    pub(in crate::kafka_groups) group: String,
    /// As Kafka's tools write it; brokers below 3.8 tell none, and all their groups are classic.
    /// In JSON in small letters, as everywhere else.
    #[serde(rename = "type", serialize_with = "in_small_letters")]
    pub(in crate::kafka_groups) kind: String,
    /// The kind of its members, such as `consumer` or `connect`; empty for a classic group without any.
    pub(in crate::kafka_groups) protocol: String,
    /// `null` where the broker tells none.
    pub(in crate::kafka_groups) state: Option<String>,
}

/// The groups of a cluster, and the brokers whose groups are missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(in crate::kafka_groups) struct KafkaGroupsList {
    /// By name.
    pub(in crate::kafka_groups) groups: Vec<ListedKafkaGroup>,
    pub(in crate::kafka_groups) missing: Vec<MissingBroker>,
}

/// A broker whose groups are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct MissingBroker {
    pub(in crate::kafka_groups) broker: String,
    pub(in crate::kafka_groups) why: String,
}

impl KafkaGroupsList {
    /// All groups, each once: one that moves meanwhile may be on two brokers.
    pub(in crate::kafka_groups) fn new(lists: BrokerLists) -> Self {
        let mut all = Self::default();
        for (broker, answer) in lists {
            let why = match answer {
                Ok(answer) if answer.error_code == 0 => {
                    all.groups.extend(answer.groups.into_iter().map(ListedKafkaGroup::new));
                    continue;
                }
                Ok(answer) => words(answer.error_code, ""),
                Err(error) => error.to_string(),
            };
            all.missing.push(MissingBroker { broker: broker.to_string(), why });
        }
        all.groups.sort_by(|a, b| a.group.cmp(&b.group));
        all.groups.dedup_by(|a, b| a.group == b.group);
        all
    }
}

fn in_small_letters<S: Serializer>(kind: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&kind.to_lowercase())
}

impl ListedKafkaGroup {
    fn new(group: ListedGroup) -> Self {
        let known = KafkaGroupKind::of_name(&group.group_type).map(|kind| kind.to_string());
        Self {
            group: group.group_id,
            kind: known.unwrap_or(group.group_type),
            protocol: group.protocol_type,
            state: Some(group.group_state).filter(|state| !state.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_kafka::Error;
    use kafka_assigner_kafka::messages::GroupListResponse;

    use super::*;

    fn listed(group: &str, kind: &str) -> ListedGroup {
        ListedGroup {
            group_id: group.to_owned(),
            protocol_type: "consumer".to_owned(),
            group_state: "Stable".to_owned(),
            group_type: kind.to_owned(),
        }
    }

    #[test]
    fn groups_of_all_brokers_are_listed_once_and_brokers_that_are_missing_told() {
        let at = |text: &str| text.parse().unwrap();
        let groups = |groups| Ok(GroupListResponse { groups, ..GroupListResponse::default() });
        let resting = Error::Resting { broker: at("c:1"), wait: std::time::Duration::ZERO };
        let list = KafkaGroupsList::new(vec![
            (at("a:1"), groups(vec![listed("z", "share"), listed("b", "")])),
            (at("b:1"), groups(vec![listed("b", "Classic"), listed("c", "newer")])),
            (at("c:1"), Err(resting)),
            (at("d:1"), Ok(GroupListResponse { error_code: 15, ..GroupListResponse::default() })),
        ]);
        let told: Vec<_> =
            list.groups.iter().map(|group| (group.group.as_str(), group.kind.as_str())).collect();
        assert_eq!(told, [("b", "Classic"), ("c", "newer"), ("z", "Share")]);
        let missing: Vec<_> = list.missing.iter().map(|missing| missing.broker.as_str()).collect();
        assert_eq!(missing, ["c:1", "d:1"]);
        assert_eq!(list.missing[1].why, "COORDINATOR_NOT_AVAILABLE (15)");
        assert_eq!(serde_json::to_value(&list.groups[0]).unwrap()["type"], "classic");
    }
}
