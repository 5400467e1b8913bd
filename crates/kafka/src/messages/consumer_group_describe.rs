//! `ConsumerGroupDescribe`: consumer groups (KIP-848).

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Asks for consumer groups.
    request struct ConsumerGroupDescribeRequest {
        /// The groups.
        group_ids: Vec<String>, since 0;
        /// True asks for what may be done with each group.
        include_authorized_operations: bool, since 0;
    }
}

wire_struct! {
    /// The groups.
    response struct ConsumerGroupDescribeResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 0;
        /// The groups.
        groups: Vec<DescribedConsumerGroup>, since 0;
    }
}

wire_struct! {
    /// A consumer group.
    response struct DescribedConsumerGroup is "DescribedGroup" {
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
        members: Vec<DescribedConsumerMember>, since 0;
        /// The operations that are allowed, as bits.
        authorized_operations: i32 = -2147483648, since 0;
    }
}

wire_struct! {
    /// A member of a consumer group.
    response struct DescribedConsumerMember is "Member" {
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        instance_id: Option<String> = None, since 0, nullable 0;
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
        /// The pattern of topics that the member subscribes to, in the syntax of RE2.
        subscribed_topic_regex: Option<String> = None, since 0, nullable 0;
        /// The partitions that the member owns.
        assignment: DescribedConsumerAssignment, since 0;
        /// The member's part of the plan.
        target_assignment: DescribedConsumerAssignment, since 0;
        /// The protocol: 0 classic, 1 consumer; −1: not known.
        member_type: i8 = -1, since 1;
    }
}

wire_struct! {
    /// The partitions of a member.
    response struct DescribedConsumerAssignment is "Assignment" {
        /// The partitions, by topic.
        topic_partitions: Vec<DescribedConsumerTopic>, since 0;
    }
}

wire_struct! {
    /// The partitions of a topic.
    response struct DescribedConsumerTopic is "TopicPartitions" {
        /// The topic's id.
        topic_id: Uuid, since 0;
        /// The topic's name.
        topic_name: String, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}
