//! `OffsetFetch`: committed offsets.

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Asks for committed offsets; from version 8 on of several groups at once.
    request struct OffsetFetchRequest {
        /// The group.
        group_id: String, since 0 until 7;
        /// The topics.
        topics: Option<Vec<OffsetFetchRequestTopic>>, since 0 until 7, nullable 2;
        /// The groups.
        groups: Vec<OffsetFetchRequestGroup>, since 8;
        /// True lets the broker refuse where a transaction has offsets that are not decided yet.
        require_stable: bool, since 7;
    }
}

wire_struct! {
    /// A topic that is asked for, below version 8.
    request struct OffsetFetchRequestTopic {
        /// The name.
        name: String, since 0 until 7;
        /// The partitions.
        partition_indexes: Vec<i32>, since 0 until 7;
    }
}

wire_struct! {
    /// A group that is asked for.
    request struct OffsetFetchRequestGroup {
        /// The group.
        group_id: String, since 8;
        /// The member's id.
        member_id: Option<String> = None, since 9, nullable 9, ignorable true;
        /// The member's epoch.
        member_epoch: i32 = -1, since 9, ignorable true;
        /// The topics.
        topics: Option<Vec<OffsetFetchRequestTopics>>, since 8, nullable 8;
    }
}

wire_struct! {
    /// A topic that is asked for, from version 8 on.
    request struct OffsetFetchRequestTopics {
        /// The name.
        name: String, since 8 until 9, ignorable true;
        /// The topic's id.
        topic_id: Uuid, since 10, ignorable true;
        /// The partitions.
        partition_indexes: Vec<i32>, since 8;
    }
}

wire_struct! {
    /// Committed offsets.
    response struct OffsetFetchResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 3;
        /// The topics.
        topics: Vec<OffsetFetchResponseTopic>, since 0 until 7;
        /// The error, 0 for none.
        error_code: i16, since 2 until 7;
        /// The groups.
        groups: Vec<OffsetFetchResponseGroup>, since 8;
    }
}

wire_struct! {
    /// A topic, below version 8.
    response struct OffsetFetchResponseTopic {
        /// The name.
        name: String, since 0 until 7;
        /// The partitions.
        partitions: Vec<OffsetFetchResponsePartition>, since 0 until 7;
    }
}

wire_struct! {
    /// The offset of a partition, below version 8.
    response struct OffsetFetchResponsePartition {
        /// The partition.
        partition_index: i32, since 0 until 7;
        /// The offset; −1: none.
        committed_offset: i64, since 0 until 7;
        /// The epoch of the leader of which the record before came; −1: not known.
        committed_leader_epoch: i32 = -1, since 5 until 7;
        /// Words of the client's beside the offset.
        metadata: Option<String>, since 0 until 7, nullable 0;
        /// The error, 0 for none.
        error_code: i16, since 0 until 7;
    }
}

wire_struct! {
    /// The offsets of a group.
    response struct OffsetFetchResponseGroup {
        /// The group.
        group_id: String, since 8;
        /// The topics.
        topics: Vec<OffsetFetchResponseTopics>, since 8;
        /// The error, 0 for none.
        error_code: i16, since 8;
    }
}

wire_struct! {
    /// A topic, from version 8 on.
    response struct OffsetFetchResponseTopics {
        /// The name.
        name: String, since 8 until 9;
        /// The topic's id.
        topic_id: Uuid, since 10;
        /// The partitions.
        partitions: Vec<OffsetFetchResponsePartitions>, since 8;
    }
}

wire_struct! {
    /// The offset of a partition, from version 8 on.
    response struct OffsetFetchResponsePartitions {
        /// The partition.
        partition_index: i32, since 8;
        /// The offset; −1: none.
        committed_offset: i64, since 8;
        /// The epoch of the leader of which the record before came; −1: not known.
        committed_leader_epoch: i32 = -1, since 8;
        /// Words of the client's beside the offset.
        metadata: Option<String>, since 8, nullable 8;
        /// The error, 0 for none.
        error_code: i16, since 8;
    }
}

impl OffsetFetchRequest {
    /// The first version that asks for several groups at once.
    const BATCHED: i16 = 8;

    /// The first version that names topics by their ids.
    pub const WITH_IDS: i16 = 10;

    /// Asks for the offsets of one group, in the words of `version`. Transactions whose offsets are not decided are
    /// waited for (KIP-447), where the version can say so.
    #[must_use]
    pub fn of_group(group: OffsetFetchRequestGroup, version: i16) -> Self {
        let require_stable = version >= 7;
        if version >= Self::BATCHED {
            return Self { groups: vec![group], require_stable, ..Self::default() };
        }
        let topic = |topic: OffsetFetchRequestTopics| OffsetFetchRequestTopic {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
        };
        let topics = group.topics.map(|topics| topics.into_iter().map(topic).collect());
        Self { group_id: group.group_id, topics, require_stable, ..Self::default() }
    }
}

impl OffsetFetchResponse {
    /// The offsets of the one group that was asked for, in one shape for all versions.
    #[must_use]
    pub fn into_group(mut self) -> OffsetFetchResponseGroup {
        if let Some(group) = self.groups.pop() {
            return group;
        }
        let partition = |own: OffsetFetchResponsePartition| OffsetFetchResponsePartitions {
            partition_index: own.partition_index,
            committed_offset: own.committed_offset,
            committed_leader_epoch: own.committed_leader_epoch,
            metadata: own.metadata,
            error_code: own.error_code,
        };
        let topic = |topic: OffsetFetchResponseTopic| OffsetFetchResponseTopics {
            name: topic.name,
            partitions: topic.partitions.into_iter().map(partition).collect(),
            ..OffsetFetchResponseTopics::default()
        };
        let topics = self.topics.into_iter().map(topic).collect();
        OffsetFetchResponseGroup {
            topics,
            error_code: self.error_code,
            ..OffsetFetchResponseGroup::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::request_frame;

    #[test]
    fn each_version_is_asked_in_its_words() {
        let topic = OffsetFetchRequestTopics {
            name: "t".to_owned(),
            partition_indexes: vec![0, 1],
            ..OffsetFetchRequestTopics::default()
        };
        let group = OffsetFetchRequestGroup {
            group_id: "g".to_owned(),
            topics: Some(vec![topic]),
            ..OffsetFetchRequestGroup::default()
        };
        for version in 5..=10 {
            let request = OffsetFetchRequest::of_group(group.clone(), version);
            assert!(request_frame(&request, version, 0, "me").is_ok(), "{version}");
        }
    }

    #[test]
    fn old_answers_have_the_shape_of_new_ones() {
        let partition = OffsetFetchResponsePartition { committed_offset: 7, ..Default::default() };
        let topic = OffsetFetchResponseTopic { name: "t".to_owned(), partitions: vec![partition] };
        let answer = OffsetFetchResponse { topics: vec![topic], error_code: 16, ..Default::default() };
        let group = answer.into_group();
        assert_eq!((group.error_code, group.topics[0].partitions[0].committed_offset), (16, 7));
    }
}
