//! `LeaveGroup`: leaving a group of the classic protocol.

use crate::wire::wire_struct;

wire_struct! {
    /// Takes members out of their group.
    request struct LeaveGroupRequest {
        /// The group.
        group_id: String, since 0;
        /// The member's id.
        member_id: String, since 0 until 2;
        /// The members.
        members: Vec<LeavingMember>, since 3;
    }
}

wire_struct! {
    /// A member that leaves.
    request struct LeavingMember is "MemberIdentity" {
        /// The member's id.
        member_id: String, since 3;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 3, nullable 3;
        /// The reason, in words for people; 255 bytes at most.
        reason: Option<String> = None, since 5, nullable 5, ignorable true;
    }
}

wire_struct! {
    /// The members that were taken out.
    response struct LeaveGroupResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The members.
        members: Vec<LeftMember>, since 3;
    }
}

wire_struct! {
    /// A member that has left, or could not.
    response struct LeftMember is "MemberResponse" {
        /// The member's id.
        member_id: String, since 3;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String>, since 3, nullable 3;
        /// The error, 0 for none.
        error_code: i16, since 3;
    }
}
