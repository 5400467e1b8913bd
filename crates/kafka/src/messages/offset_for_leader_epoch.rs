//! `OffsetForLeaderEpoch`: the ends of leaders' epochs.

use crate::wire::wire_struct;

wire_struct! {
    /// Asks at which offsets epochs of leaders ended.
    request struct OffsetForLeaderEpochRequest {
        /// The replica that asks; −1: a client.
        replica_id: i32 = -2, since 3, ignorable true;
        /// The topics.
        topics: Vec<OffsetForLeaderTopic>, since 0;
    }
}

wire_struct! {
    /// A topic that is asked for.
    request struct OffsetForLeaderTopic {
        /// The topic's name.
        topic: String, since 0;
        /// The partitions.
        partitions: Vec<OffsetForLeaderPartition>, since 0;
    }
}

wire_struct! {
    /// A partition that is asked for.
    request struct OffsetForLeaderPartition {
        /// The partition.
        partition: i32, since 0;
        /// The epoch of the leader that the client knows; −1: not known.
        current_leader_epoch: i32 = -1, since 2, ignorable true;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32, since 0;
    }
}

wire_struct! {
    /// The ends.
    response struct OffsetForLeaderEpochResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 2;
        /// The topics.
        topics: Vec<OffsetForLeaderTopicResult>, since 0;
    }
}

wire_struct! {
    /// A topic.
    response struct OffsetForLeaderTopicResult {
        /// The topic's name.
        topic: String, since 0;
        /// The partitions.
        partitions: Vec<LeaderEpochEnd>, since 0;
    }
}

wire_struct! {
    /// The end of an epoch in a partition.
    response struct LeaderEpochEnd is "EpochEndOffset" {
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The partition.
        partition: i32, since 0;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32 = -1, since 1;
        /// The end.
        end_offset: i64 = -1, since 0;
    }
}
