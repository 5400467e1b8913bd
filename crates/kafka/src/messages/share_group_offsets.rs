//! `DescribeShareGroupOffsets`: offsets of share groups.

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Asks for the offsets of share groups.
    request struct DescribeShareGroupOffsetsRequest {
        /// The groups.
        groups: Vec<ShareOffsetsRequestGroup>, since 0;
    }
}

wire_struct! {
    /// A group that is asked for.
    request struct ShareOffsetsRequestGroup is "DescribeShareGroupOffsetsRequestGroup" {
        /// The group.
        group_id: String, since 0;
        /// The topics.
        topics: Option<Vec<ShareOffsetsRequestTopic>>, since 0, nullable 0;
    }
}

wire_struct! {
    /// A topic that is asked for.
    request struct ShareOffsetsRequestTopic is "DescribeShareGroupOffsetsRequestTopic" {
        /// The topic's name.
        topic_name: String, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}

wire_struct! {
    /// The offsets.
    response struct DescribeShareGroupOffsetsResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 0;
        /// The groups.
        groups: Vec<ShareOffsetsGroup>, since 0;
    }
}

wire_struct! {
    /// The offsets of a group.
    response struct ShareOffsetsGroup is "DescribeShareGroupOffsetsResponseGroup" {
        /// The group.
        group_id: String, since 0;
        /// The topics.
        topics: Vec<ShareOffsetsTopic>, since 0;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String> = None, since 0, nullable 0;
    }
}

wire_struct! {
    /// A topic.
    response struct ShareOffsetsTopic is "DescribeShareGroupOffsetsResponseTopic" {
        /// The topic's name.
        topic_name: String, since 0;
        /// The topic's id.
        topic_id: Uuid, since 0;
        /// The partitions.
        partitions: Vec<ShareOffsetsPartition>, since 0;
    }
}

wire_struct! {
    /// The offset of a partition.
    response struct ShareOffsetsPartition is "DescribeShareGroupOffsetsResponsePartition" {
        /// The partition.
        partition_index: i32, since 0;
        /// The first offset that is not done.
        start_offset: i64, since 0;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32, since 0;
        /// The number of records that are not done; −1: not known.
        lag: i64 = -1, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String> = None, since 0, nullable 0;
    }
}
