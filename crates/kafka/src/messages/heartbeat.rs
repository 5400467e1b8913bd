//! `Heartbeat`: a sign of life in the classic protocol.

use crate::wire::wire_struct;

wire_struct! {
    /// Says that a member lives.
    request struct GroupHeartbeatRequest {
        /// The group.
        group_id: String, since 0;
        /// The generation.
        generation_id: i32, since 0;
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 3, nullable 3;
    }
}

wire_struct! {
    /// The broker's word on the generation.
    response struct GroupHeartbeatResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0;
    }
}
