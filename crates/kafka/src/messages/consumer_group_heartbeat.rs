//! `ConsumerGroupHeartbeat`: a member of a consumer group (KIP-848).

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Joins a consumer group, leaves it, or says that a member lives. Fields that did not change are null or −1.
    request struct ConsumerGroupHeartbeatRequest {
        /// The group.
        group_id: String, since 0;
        /// The member's id.
        member_id: String, since 0;
        /// The member's epoch; 0 joins, −1 leaves, −2 leaves for a while as a static member.
        member_epoch: i32, since 0;
        /// The member's instance id, where it is a static member.
        instance_id: Option<String> = None, since 0, nullable 0;
        /// The rack.
        rack_id: Option<String> = None, since 0, nullable 0;
        /// The time that the member has to give partitions up, in milliseconds; −1: as before.
        rebalance_timeout_ms: i32 = -1, since 0;
        /// The topics that the member subscribes to.
        subscribed_topic_names: Option<Vec<String>> = None, since 0, nullable 0;
        /// The pattern of topics that the member subscribes to, in the syntax of RE2.
        subscribed_topic_regex: Option<String> = None, since 1, nullable 1;
        /// The broker's strategy that the member asks for.
        server_assignor: Option<String> = None, since 0, nullable 0;
        /// The partitions that the member owns; null: as before.
        topic_partitions: Option<Vec<HeartbeatOwnedTopic>> = None, since 0, nullable 0;
    }
}

wire_struct! {
    /// The partitions of a topic that the member owns.
    request struct HeartbeatOwnedTopic is "TopicPartitions" {
        /// The topic's id.
        topic_id: Uuid, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}

wire_struct! {
    /// The member's epoch, and what it is to own where that changed.
    response struct ConsumerGroupHeartbeatResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 0;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String> = None, since 0, nullable 0;
        /// The member's id.
        member_id: Option<String> = None, since 0, nullable 0;
        /// The member's epoch.
        member_epoch: i32, since 0;
        /// The time until the next sign of life, in milliseconds.
        heartbeat_interval_ms: i32, since 0;
        /// All that the member is to own; null: as before.
        assignment: Option<HeartbeatAssignment> = None, since 0, nullable 0;
    }
}

wire_struct! {
    /// All that the member is to own.
    response struct HeartbeatAssignment is "Assignment" {
        /// The partitions, by topic.
        topic_partitions: Vec<HeartbeatAssignedTopic>, since 0;
    }
}

wire_struct! {
    /// The partitions of a topic that the member is to own.
    response struct HeartbeatAssignedTopic is "TopicPartitions" {
        /// The topic's id.
        topic_id: Uuid, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}
