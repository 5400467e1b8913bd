//! `Fetch`: records.

use crate::wire::{RecordBytes, Uuid, wire_struct};

wire_struct! {
    /// Asks for records. The broker holds the answer back until there are some, or the time is over.
    request struct FetchRequest {
        /// The cluster that is meant, where it is known.
        cluster_id: Option<String> = None, since 12, nullable 12, tag 0, ignorable true;
        /// The replica that asks; −1: a client.
        replica_id: i32 = -1, since 0 until 14;
        /// The replica that asks; a client says nothing.
        replica_state: FetchReplicaState, since 15, tag 1;
        /// The time for which the broker may wait for records, in milliseconds.
        max_wait_ms: i32, since 0;
        /// The bytes for which the broker waits.
        min_bytes: i32, since 0;
        /// The most bytes of records in an answer; the first batch comes whatever its size.
        max_bytes: i32 = 0x7fffffff, since 3, ignorable true;
        /// The records that are visible: 0 all, 1 those of transactions that are decided.
        isolation_level: i8, since 4, ignorable true;
        /// The fetch session; 0: none.
        session_id: i32, since 7, ignorable true;
        /// The number of the request in its session; −1: no session, 0: a new one.
        session_epoch: i32 = -1, since 7, ignorable true;
        /// The topics.
        topics: Vec<FetchTopic>, since 0;
        /// The partitions that the session shall forget.
        forgotten_topics_data: Vec<ForgottenTopic>, since 7;
        /// The rack.
        rack_id: String, since 11, ignorable true;
    }
}

wire_struct! {
    /// The replica that fetches; for brokers alone.
    request struct FetchReplicaState is "ReplicaState" {
        /// The replica that asks; −1: a client.
        replica_id: i32 = -1, since 15;
        /// The epoch of the replica.
        replica_epoch: i64 = -1, since 15;
    }
}

wire_struct! {
    /// A topic to fetch from.
    request struct FetchTopic {
        /// The topic's name.
        topic: String, since 0 until 12, ignorable true;
        /// The topic's id.
        topic_id: Uuid, since 13, ignorable true;
        /// The partitions.
        partitions: Vec<FetchPartition>, since 0;
    }
}

wire_struct! {
    /// A partition to fetch from.
    request struct FetchPartition {
        /// The partition.
        partition: i32, since 0;
        /// The epoch of the leader that the client knows; −1: not known.
        current_leader_epoch: i32 = -1, since 9, ignorable true;
        /// The first offset that is wanted.
        fetch_offset: i64, since 0;
        /// The epoch of the last record that was fetched; −1: not known.
        last_fetched_epoch: i32 = -1, since 12;
        /// The first offset of the log; −1: not known.
        log_start_offset: i64 = -1, since 5, ignorable true;
        /// The most bytes of records of the partition.
        partition_max_bytes: i32, since 0;
        /// The directory of the replica; a client says nothing.
        replica_directory_id: Uuid, since 17, tag 0, ignorable true;
        /// The end of what is replicated.
        high_watermark: i64 = 9223372036854775807, since 18, tag 1, ignorable true;
    }
}

wire_struct! {
    /// Partitions that the session shall forget.
    request struct ForgottenTopic {
        /// The topic's name.
        topic: String, since 7 until 12, ignorable true;
        /// The topic's id.
        topic_id: Uuid, since 13, ignorable true;
        /// The partitions.
        partitions: Vec<i32>, since 7;
    }
}

wire_struct! {
    /// Records, partition by partition.
    response struct FetchResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 7;
        /// The fetch session; 0: none.
        session_id: i32, since 7;
        /// The topics.
        responses: Vec<FetchedTopic>, since 0;
        /// The addresses of leaders that are named.
        node_endpoints: Vec<FetchEndpoint>, since 16, tag 0;
    }
}

wire_struct! {
    /// A topic.
    response struct FetchedTopic is "FetchableTopicResponse" {
        /// The topic's name.
        topic: String, since 0 until 12;
        /// The topic's id.
        topic_id: Uuid, since 13;
        /// The partitions.
        partitions: Vec<FetchedPartition>, since 0;
    }
}

wire_struct! {
    /// The records of a partition.
    response struct FetchedPartition is "PartitionData" {
        /// The partition.
        partition_index: i32, since 0;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The end of what is replicated.
        high_watermark: i64, since 0;
        /// The end of what transactions have decided.
        last_stable_offset: i64 = -1, since 4;
        /// The first offset of the log; −1: not known.
        log_start_offset: i64 = -1, since 5;
        /// The place at which the logs diverge; for replicas.
        diverging_epoch: DivergingEpoch, since 12, tag 0;
        /// The leader, where it is another one.
        current_leader: LeaderAndEpoch, since 12, tag 1;
        /// A snapshot to begin with; for replicas.
        snapshot_id: FetchedSnapshot, since 12, tag 2;
        /// The transactions that were aborted, where only decided records are wanted.
        aborted_transactions: Option<Vec<AbortedTransaction>>, since 4, nullable 4;
        /// The replica to read from; −1: this one.
        preferred_read_replica: i32 = -1, since 11;
        /// The batches, one behind the other; the last one may be cut off.
        records: Option<RecordBytes>, since 0, nullable 0;
    }
}

wire_struct! {
    /// The place at which the follower's log leaves the leader's; for replicas.
    response struct DivergingEpoch is "EpochEndOffset" {
        /// The epoch.
        epoch: i32 = -1, since 12;
        /// The end.
        end_offset: i64 = -1, since 12;
    }
}

wire_struct! {
    /// The leader that the broker knows.
    response struct LeaderAndEpoch is "LeaderIdAndEpoch" {
        /// The leader's number; −1: none.
        leader_id: i32 = -1, since 12;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32 = -1, since 12;
    }
}

wire_struct! {
    /// A snapshot to begin with; for replicas.
    response struct FetchedSnapshot is "SnapshotId" {
        /// The end.
        end_offset: i64 = -1, since 0;
        /// The epoch.
        epoch: i32 = -1, since 0;
    }
}

wire_struct! {
    /// A transaction that was aborted: its records from an offset on are not to be read.
    response struct AbortedTransaction {
        /// The producer.
        producer_id: i64, since 4;
        /// The first offset of the transaction.
        first_offset: i64, since 4;
    }
}

wire_struct! {
    /// The address of a leader.
    response struct FetchEndpoint is "NodeEndpoint" {
        /// The broker's number; −1: none.
        node_id: i32, since 16;
        /// The host.
        host: String, since 16;
        /// The port.
        port: i32, since 16;
        /// The rack.
        rack: Option<String> = None, since 16, nullable 16;
    }
}
