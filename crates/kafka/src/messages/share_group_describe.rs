//! `ShareGroupDescribe`: share groups (KIP-932).

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Asks for share groups.
    request struct ShareGroupDescribeRequest {
        /// The groups.
        group_ids: Vec<String>, since 0;
        /// True asks for what may be done with each group.
        include_authorized_operations: bool, since 0;
    }
}

wire_struct! {
    /// The groups.
    response struct ShareGroupDescribeResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 0;
        /// The groups.
        groups: Vec<DescribedShareGroup>, since 0;
    }
}

wire_struct! {
    /// A share group.
    response struct DescribedShareGroup is "DescribedGroup" {
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String> = None, since 0, nullable 0;
        /// The group.
        group_id: String, since 0;
        /// The state, as Kafka names it.
        group_state: String, since 0;
        /// The epoch of the group.
        group_epoch: i32, since 0;
        /// The epoch of the plan.
        assignment_epoch: i32, since 0;
        /// The broker's strategy.
        assignor_name: String, since 0;
        /// The members.
        members: Vec<DescribedShareMember>, since 0;
        /// The operations that are allowed, as bits.
        authorized_operations: i32 = -2147483648, since 0;
    }
}

wire_struct! {
    /// A member of a share group.
    response struct DescribedShareMember is "Member" {
        /// The member's id.
        member_id: String, since 0;
        /// The rack.
        rack_id: Option<String> = None, since 0, nullable 0;
        /// The member's epoch.
        member_epoch: i32, since 0;
        /// The name that the client gives itself.
        client_id: String, since 0;
        /// The host of the client.
        client_host: String, since 0;
        /// The topics that the member subscribes to.
        subscribed_topic_names: Vec<String>, since 0;
        /// The partitions that the member reads.
        assignment: DescribedShareAssignment, since 0;
    }
}

wire_struct! {
    /// The partitions of a member.
    response struct DescribedShareAssignment is "Assignment" {
        /// The partitions, by topic.
        topic_partitions: Vec<DescribedShareTopic>, since 0;
    }
}

wire_struct! {
    /// The partitions of a topic.
    response struct DescribedShareTopic is "TopicPartitions" {
        /// The topic's id.
        topic_id: Uuid, since 0;
        /// The topic's name.
        topic_name: String, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}
