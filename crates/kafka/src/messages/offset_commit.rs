//! `OffsetCommit`: committing offsets.

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Commits offsets for a group.
    request struct OffsetCommitRequest {
        /// The group.
        group_id: String, since 0;
        /// The generation, or in a consumer group the member's epoch; −1: no member.
        generation_id_or_member_epoch: i32 = -1, since 1, ignorable true;
        /// The member's id.
        member_id: String, since 1, ignorable true;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 7, nullable 7;
        /// The time for which the offset is kept, in milliseconds; −1: as the broker is set.
        retention_time_ms: i64 = -1, since 2 until 4, ignorable true;
        /// The topics.
        topics: Vec<OffsetCommitRequestTopic>, since 0;
    }
}

wire_struct! {
    /// A topic whose offsets are committed.
    request struct OffsetCommitRequestTopic {
        /// The name.
        name: String, since 0 until 9, ignorable true;
        /// The topic's id.
        topic_id: Uuid, since 10, ignorable true;
        /// The partitions.
        partitions: Vec<OffsetCommitRequestPartition>, since 0;
    }
}

wire_struct! {
    /// An offset to commit.
    request struct OffsetCommitRequestPartition {
        /// The partition.
        partition_index: i32, since 0;
        /// The offset; −1: none.
        committed_offset: i64, since 0;
        /// The epoch of the leader of which the record before came; −1: not known.
        committed_leader_epoch: i32 = -1, since 6, ignorable true;
        /// Words of the client's beside the offset.
        committed_metadata: Option<String>, since 0, nullable 0;
    }
}

wire_struct! {
    /// The outcome for each partition.
    response struct OffsetCommitResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 3;
        /// The topics.
        topics: Vec<OffsetCommitResponseTopic>, since 0;
    }
}

wire_struct! {
    /// A topic.
    response struct OffsetCommitResponseTopic {
        /// The name.
        name: String, since 0 until 9;
        /// The topic's id.
        topic_id: Uuid, since 10;
        /// The partitions.
        partitions: Vec<OffsetCommitResponsePartition>, since 0;
    }
}

wire_struct! {
    /// The outcome for a partition.
    response struct OffsetCommitResponsePartition {
        /// The partition.
        partition_index: i32, since 0;
        /// The error, 0 for none.
        error_code: i16, since 0;
    }
}
