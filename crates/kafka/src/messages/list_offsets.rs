//! `ListOffsets`: offsets by time.

use crate::wire::wire_struct;

wire_struct! {
    /// Asks for the first offset of a time, or the first or last of all.
    request struct ListOffsetsRequest {
        /// The replica that asks; −1: a client.
        replica_id: i32, since 0;
        /// The records that are visible: 0 all, 1 those of transactions that are decided.
        isolation_level: i8, since 2;
        /// The topics.
        topics: Vec<ListOffsetsTopic>, since 0;
        /// The time that the broker has for it, in milliseconds.
        timeout_ms: i32, since 10, ignorable true;
    }
}

wire_struct! {
    /// A topic that is asked for.
    request struct ListOffsetsTopic {
        /// The name.
        name: String, since 0;
        /// The partitions.
        partitions: Vec<ListOffsetsPartition>, since 0;
    }
}

wire_struct! {
    /// A partition that is asked for.
    request struct ListOffsetsPartition {
        /// The partition.
        partition_index: i32, since 0;
        /// The epoch of the leader that the client knows; −1: not known.
        current_leader_epoch: i32 = -1, since 4, ignorable true;
        /// The time in milliseconds since 1970; negative numbers mean ends of the log.
        timestamp: i64, since 0;
    }
}

wire_struct! {
    /// Offsets.
    response struct ListOffsetsResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 2;
        /// The topics.
        topics: Vec<ListOffsetsTopicResponse>, since 0;
    }
}

wire_struct! {
    /// A topic.
    response struct ListOffsetsTopicResponse {
        /// The name.
        name: String, since 0;
        /// The partitions.
        partitions: Vec<ListOffsetsPartitionResponse>, since 0;
    }
}

wire_struct! {
    /// The offset of a partition.
    response struct ListOffsetsPartitionResponse {
        /// The partition.
        partition_index: i32, since 0;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The time of the record, in milliseconds since 1970; −1: not known.
        timestamp: i64 = -1, since 1;
        /// The offset; −1: none.
        offset: i64 = -1, since 1;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32 = -1, since 4;
    }
}
