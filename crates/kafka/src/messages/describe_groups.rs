//! `DescribeGroups`: groups of the classic protocol.

use crate::wire::{Blob, wire_struct};

wire_struct! {
    /// Asks for groups of the classic protocol.
    request struct DescribeGroupsRequest {
        /// The groups.
        groups: Vec<String>, since 0;
        /// True asks for what may be done with each group.
        include_authorized_operations: bool, since 3;
    }
}

wire_struct! {
    /// The groups.
    response struct DescribeGroupsResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The groups.
        groups: Vec<DescribedClassicGroup>, since 0;
    }
}

wire_struct! {
    /// A group of the classic protocol.
    response struct DescribedClassicGroup is "DescribedGroup" {
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String> = None, since 6, nullable 6;
        /// The group.
        group_id: String, since 0;
        /// The state, as Kafka names it.
        group_state: String, since 0;
        /// The kind of group: `consumer`.
        protocol_type: String, since 0;
        /// The strategy.
        protocol_data: String, since 0;
        /// The members.
        members: Vec<DescribedClassicMember>, since 0;
        /// The operations that are allowed, as bits.
        authorized_operations: i32 = -2147483648, since 3;
    }
}

wire_struct! {
    /// A member of the classic protocol.
    response struct DescribedClassicMember is "DescribedGroupMember" {
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 4, nullable 4;
        /// The name that the client gives itself.
        client_id: String, since 0;
        /// The host of the client.
        client_host: String, since 0;
        /// The subscription, in the bytes of the consumer protocol.
        member_metadata: Blob, since 0;
        /// The member's part of the plan, in the bytes of the consumer protocol.
        member_assignment: Blob, since 0;
    }
}
