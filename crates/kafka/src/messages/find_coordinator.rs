//! `FindCoordinator`: the broker that coordinates a group.

use crate::address::BrokerAddress;
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

impl FindCoordinatorRequest {
    /// The first version that asks for several groups at once.
    const BATCHED: i16 = 4;

    /// Asks for the coordinator of `group`, in the words of `version`.
    #[must_use]
    pub fn of_group(group: &str, version: i16) -> Self {
        if version >= Self::BATCHED {
            Self { coordinator_keys: vec![group.to_owned()], ..Self::default() }
        } else {
            Self { key: group.to_owned(), ..Self::default() }
        }
    }
}

impl FindCoordinatorResponse {
    /// The coordinator of `group`: its number and its address.
    ///
    /// # Errors
    /// Kafka's number of an error. An answer without the group, or with an address that is none, is 15: there is no
    /// coordinator now.
    pub fn of_group(&self, group: &str) -> Result<(i32, BrokerAddress), i16> {
        let batched = self.coordinators.iter().find(|found| found.key == group);
        let (code, node, host, port) = match batched {
            Some(found) => (found.error_code, found.node_id, &found.host, found.port),
            None => (self.error_code, self.node_id, &self.host, self.port),
        };
        match code {
            0 => BrokerAddress::new(host, port).map(|address| (node, address)).ok_or(15),
            code => Err(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coordinator_is_found_in_both_shapes_of_the_answer() {
        let single = FindCoordinatorResponse {
            node_id: 3,
            host: "kafka-3".to_owned(),
            port: 9092,
            ..FindCoordinatorResponse::default()
        };
        let found = FoundCoordinator {
            key: "g".to_owned(),
            node_id: 3,
            host: "kafka-3".to_owned(),
            port: 9092,
            ..FoundCoordinator::default()
        };
        let batched =
            FindCoordinatorResponse { coordinators: vec![found], ..FindCoordinatorResponse::default() };
        let expected = Ok((3, "kafka-3:9092".parse().unwrap()));
        assert_eq!([single.of_group("g"), batched.of_group("g")], [expected.clone(), expected]);
        assert_eq!(batched.of_group("another"), Err(15));
        let moved = FindCoordinatorResponse { error_code: 14, ..single };
        assert_eq!(moved.of_group("g"), Err(14));
        let nowhere = FindCoordinatorResponse { port: -1, error_code: 0, ..moved };
        assert_eq!(nowhere.of_group("g"), Err(15));
    }

    #[test]
    fn each_version_is_asked_in_its_words() {
        let (old, new) = (FindCoordinatorRequest::of_group("g", 3), FindCoordinatorRequest::of_group("g", 4));
        assert_eq!((old.key.as_str(), old.coordinator_keys.len()), ("g", 0));
        assert_eq!((new.key.as_str(), new.coordinator_keys.len()), ("", 1));
    }
}
