//! `JoinGroup`: a member of the classic protocol joins.

use crate::wire::{Blob, wire_struct};

wire_struct! {
    /// Joins a group of the classic protocol, or joins again. The broker holds the answer back until all members have joined.
    request struct JoinGroupRequest {
        /// The group.
        group_id: String, since 0;
        /// The time after which a member without a sign of life is gone, in milliseconds.
        session_timeout_ms: i32, since 0;
        /// The time that members have to join again, in milliseconds.
        rebalance_timeout_ms: i32 = -1, since 1, ignorable true;
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 5, nullable 5;
        /// The kind of group: `consumer`.
        protocol_type: String, since 0;
        /// The strategies, the preferred one first.
        protocols: Vec<JoinGroupRequestProtocol>, since 0;
        /// The reason, in words for people; 255 bytes at most.
        reason: Option<String> = None, since 8, nullable 8, ignorable true;
    }
}

wire_struct! {
    /// A strategy that the member offers.
    request struct JoinGroupRequestProtocol {
        /// The strategy's name.
        name: String, since 0;
        /// The subscription, in the bytes of the consumer protocol.
        metadata: Blob, since 0;
    }
}

wire_struct! {
    /// The generation that has come about.
    response struct JoinGroupResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 2;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The generation.
        generation_id: i32 = -1, since 0;
        /// The kind of group: `consumer`.
        protocol_type: Option<String> = None, since 7, nullable 7;
        /// The strategy that all members offer.
        protocol_name: Option<String>, since 0, nullable 7;
        /// The id of the member that plans; empty where the broker plans.
        leader: String, since 0;
        /// True where the leader must not send a plan: the one that is there goes on.
        skip_assignment: bool, since 9;
        /// The member's id.
        member_id: String, since 0;
        /// The members.
        members: Vec<JoinGroupResponseMember>, since 0;
    }
}

wire_struct! {
    /// A member of the generation.
    response struct JoinGroupResponseMember {
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 5, nullable 5;
        /// The subscription, in the bytes of the consumer protocol.
        metadata: Blob, since 0;
    }
}
