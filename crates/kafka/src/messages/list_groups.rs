//! `ListGroups`: the groups of one broker.

use crate::wire::wire_struct;

wire_struct! {
    /// Asks for the groups that a broker coordinates.
    request struct GroupListRequest {
        /// The states that are wanted; none: all.
        states_filter: Vec<String>, since 4;
        /// The types that are wanted; none: all.
        types_filter: Vec<String>, since 5;
    }
}

wire_struct! {
    /// The groups.
    response struct GroupListResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0;
        /// The groups.
        groups: Vec<ListedGroup>, since 0;
    }
}

wire_struct! {
    /// A group.
    response struct ListedGroup {
        /// The group.
        group_id: String, since 0;
        /// The kind of group: `consumer`.
        protocol_type: String, since 0;
        /// The state, as Kafka names it.
        group_state: String, since 4;
        /// The type, as Kafka names it.
        group_type: String, since 5;
    }
}
