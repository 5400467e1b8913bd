//! `FindCoordinator`: the broker that coordinates a group.

use crate::wire::wire_struct;

wire_struct! {
    /// Asks for the coordinators of groups or transactions.
    request struct FindCoordinatorRequest {
        /// The group, or the transactional id.
        key: String, since 0 until 3;
        /// The kind of key: 0 a group, 1 a transaction, 2 a share group.
        key_type: i8, since 1;
        /// The keys.
        coordinator_keys: Vec<String>, since 4;
    }
}

wire_struct! {
    /// The coordinators; below version 4 there is one, in the fields themselves.
    response struct FindCoordinatorResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The error, 0 for none.
        error_code: i16, since 0 until 3;
        /// The error in words.
        error_message: Option<String>, since 1 until 3, nullable 1;
        /// The broker's number; −1: none.
        node_id: i32, since 0 until 3;
        /// The host.
        host: String, since 0 until 3;
        /// The port.
        port: i32, since 0 until 3;
        /// A coordinator for each key.
        coordinators: Vec<FoundCoordinator>, since 4;
    }
}

wire_struct! {
    /// The coordinator of one group or transaction.
    response struct FoundCoordinator is "Coordinator" {
        /// The group, or the transactional id.
        key: String, since 4;
        /// The broker's number; −1: none.
        node_id: i32, since 4;
        /// The host.
        host: String, since 4;
        /// The port.
        port: i32, since 4;
        /// The error, 0 for none.
        error_code: i16, since 4;
        /// The error in words.
        error_message: Option<String>, since 4, nullable 4;
    }
}
