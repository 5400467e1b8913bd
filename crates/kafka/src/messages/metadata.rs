//! `Metadata`: brokers, topics and partitions.

use crate::wire::{Uuid, wire_struct};

wire_struct! {
    /// Asks for topics, and for the brokers of the cluster.
    request struct MetadataRequest {
        /// The topics; null: all there are (in version 0 an empty list).
        topics: Option<Vec<MetadataRequestTopic>>, since 0, nullable 1;
        /// True lets the broker create topics that do not exist.
        allow_auto_topic_creation: bool = true, since 4;
        /// True asks for what may be done with the cluster.
        include_cluster_authorized_operations: bool, since 8 until 10;
        /// True asks for what may be done with each topic.
        include_topic_authorized_operations: bool, since 8;
    }
}

wire_struct! {
    /// A topic that is asked for, by name or by id.
    request struct MetadataRequestTopic {
        /// Its id; zero where the name is meant.
        topic_id: Uuid, since 10, ignorable true;
        /// Its name; null where the id is meant.
        name: Option<String>, since 0, nullable 10;
    }
}

wire_struct! {
    /// Brokers and topics as one broker knows them.
    response struct MetadataResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 3;
        /// The brokers that are alive.
        brokers: Vec<MetadataResponseBroker>, since 0;
        /// The cluster's id.
        cluster_id: Option<String> = None, since 2, nullable 2;
        /// The broker that is the controller; −1: not known.
        controller_id: i32 = -1, since 1;
        /// The topics, one for each that was asked for.
        topics: Vec<MetadataResponseTopic>, since 0;
        /// The operations on the cluster that are allowed, as bits.
        cluster_authorized_operations: i32 = -2147483648, since 8 until 10;
        /// The error of the whole request, 0 for none.
        error_code: i16, since 13;
    }
}

wire_struct! {
    /// A broker.
    response struct MetadataResponseBroker {
        /// Its number.
        node_id: i32, since 0;
        /// The host at which clients reach it.
        host: String, since 0;
        /// The port at which clients reach it.
        port: i32, since 0;
        /// Its rack.
        rack: Option<String> = None, since 1, nullable 1;
    }
}

wire_struct! {
    /// A topic.
    response struct MetadataResponseTopic {
        /// The error of the topic, 0 for none; 3: there is no such topic.
        error_code: i16, since 0;
        /// Its name; null where it was asked for by id and is not there.
        name: Option<String>, since 0, nullable 12;
        /// Its id; zero where it has none.
        topic_id: Uuid, since 10;
        /// True if Kafka made it for itself.
        is_internal: bool = false, since 1;
        /// Its partitions.
        partitions: Vec<MetadataResponsePartition>, since 0;
        /// The operations on the topic that are allowed, as bits.
        topic_authorized_operations: i32 = -2147483648, since 8;
    }
}

wire_struct! {
    /// A partition.
    response struct MetadataResponsePartition {
        /// The error of the partition, 0 for none.
        error_code: i16, since 0;
        /// Its number.
        partition_index: i32, since 0;
        /// The broker that leads it; −1: none.
        leader_id: i32, since 0;
        /// The epoch of the leader; −1: not known.
        leader_epoch: i32 = -1, since 7;
        /// The brokers that have a replica.
        replica_nodes: Vec<i32>, since 0;
        /// Those whose replica is in sync.
        isr_nodes: Vec<i32>, since 0;
        /// Those whose replica is offline.
        offline_replicas: Vec<i32>, since 5;
    }
}

impl MetadataRequest {
    /// The first version whose answers have topic ids (Kafka 2.8).
    pub const WITH_IDS: i16 = 10;

    /// The most topics that are asked for at once. With some 60 bytes for a partition of three replicas, the answer's
    /// bound of 32 MiB is reached at 1 000 partitions for each of them.
    pub const MOST_TOPICS: usize = 500;

    /// Asks for the topics `names`, and creates none of them.
    #[must_use]
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let named = |name: &str| MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let topics = Some(names.into_iter().map(named).collect());
        Self { topics, allow_auto_topic_creation: false, ..Self::default() }
    }
}
