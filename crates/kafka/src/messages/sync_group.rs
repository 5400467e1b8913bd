//! `SyncGroup`: the plan of a generation.

use crate::wire::{Blob, wire_struct};

wire_struct! {
    /// Brings the plan, if the sender leads, and asks for its own part of it.
    request struct SyncGroupRequest {
        /// The group.
        group_id: String, since 0;
        /// The generation.
        generation_id: i32, since 0;
        /// The member's id.
        member_id: String, since 0;
        /// The member's instance id, where it is a static member.
        group_instance_id: Option<String> = None, since 3, nullable 3;
        /// The kind of group: `consumer`.
        protocol_type: Option<String> = None, since 5, nullable 5, ignorable true;
        /// The strategy.
        protocol_name: Option<String> = None, since 5, nullable 5, ignorable true;
        /// The plan; of the leader alone.
        assignments: Vec<SyncGroupRequestAssignment>, since 0;
    }
}

wire_struct! {
    /// One member's part of the plan.
    request struct SyncGroupRequestAssignment {
        /// The member's id.
        member_id: String, since 0;
        /// The member's part, in the bytes of the consumer protocol.
        assignment: Blob, since 0;
    }
}

wire_struct! {
    /// The part of the plan that is for the member.
    response struct SyncGroupResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The kind of group: `consumer`.
        protocol_type: Option<String> = None, since 5, nullable 5;
        /// The strategy.
        protocol_name: Option<String> = None, since 5, nullable 5;
        /// The member's part, in the bytes of the consumer protocol.
        assignment: Blob, since 0;
    }
}
