//! `StreamsGroupDescribe`: streams groups (KIP-1071).

use crate::wire::wire_struct;

wire_struct! {
    /// Asks for streams groups.
    request struct StreamsGroupDescribeRequest {
        /// The groups.
        group_ids: Vec<String>, since 0;
        /// True asks for what may be done with each group.
        include_authorized_operations: bool, since 0;
        /// True asks for the nodes of the topology.
        include_topology_description: bool, since 1;
    }
}

wire_struct! {
    /// The groups.
    response struct StreamsGroupDescribeResponse {
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 0;
        /// The groups.
        groups: Vec<DescribedStreamsGroup>, since 0;
    }
}

wire_struct! {
    /// A streams group.
    response struct DescribedStreamsGroup is "DescribedGroup" {
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
        /// The topology, where there is one.
        topology: Option<StreamsTopology> = None, since 0, nullable 0;
        /// The members.
        members: Vec<DescribedStreamsMember>, since 0;
        /// The operations that are allowed, as bits.
        authorized_operations: i32 = -2147483648, since 0;
        /// The nodes of the topology.
        topology_description: Option<StreamsDescription> = None, since 1, nullable 1;
        /// The state of that description, as a number of Kafka's.
        topology_description_status: i8, since 1;
        /// The broker's strategy.
        assignor_name: Option<String> = None, since 1, nullable 1;
    }
}

wire_struct! {
    /// The topology of an application.
    response struct StreamsTopology is "Topology" {
        /// The epoch.
        epoch: i32, since 0;
        /// The subtopologies.
        subtopologies: Option<Vec<StreamsSubtopology>> = None, since 0, nullable 0;
    }
}

wire_struct! {
    /// A subtopology.
    response struct StreamsSubtopology is "Subtopology" {
        /// The subtopology.
        subtopology_id: String, since 0;
        /// The topics that are read.
        source_topics: Vec<String>, since 0;
        /// The topics for repartitioning that are written.
        repartition_sink_topics: Vec<String>, since 0;
        /// The changelogs of its states.
        state_changelog_topics: Vec<StreamsTopicInfo>, since 0;
        /// The topics for repartitioning that are read.
        repartition_source_topics: Vec<StreamsTopicInfo>, since 0;
    }
}

wire_struct! {
    /// A topic that the application makes.
    response struct StreamsTopicInfo is "TopicInfo" {
        /// The name.
        name: String, since 0;
        /// The number of partitions.
        partitions: i32, since 0;
        /// The number of replicas.
        replication_factor: i16, since 0;
        /// The settings of the topic.
        topic_configs: Vec<StreamsKeyValue>, since 0;
    }
}

wire_struct! {
    /// A key with its value.
    response struct StreamsKeyValue is "KeyValue" {
        /// The key.
        key: String, since 0;
        /// The value.
        value: String, since 0;
    }
}

wire_struct! {
    /// A member of a streams group.
    response struct DescribedStreamsMember is "Member" {
        /// The member's id.
        member_id: String, since 0;
        /// The member's epoch.
        member_epoch: i32, since 0;
        /// The member's instance id, where it is a static member.
        instance_id: Option<String> = None, since 0, nullable 0;
        /// The rack.
        rack_id: Option<String> = None, since 0, nullable 0;
        /// The name that the client gives itself.
        client_id: String, since 0;
        /// The host of the client.
        client_host: String, since 0;
        /// The epoch of the topology.
        topology_epoch: i32, since 0;
        /// The process.
        process_id: String, since 0;
        /// The address for interactive queries.
        user_endpoint: Option<StreamsEndpoint> = None, since 0, nullable 0;
        /// The tags of the client.
        client_tags: Vec<StreamsKeyValue>, since 0;
        /// The offsets that tasks have reached.
        task_offsets: Vec<StreamsTaskOffset>, since 0;
        /// The ends of the tasks' logs.
        task_end_offsets: Vec<StreamsTaskOffset>, since 0;
        /// The tasks that the member has.
        assignment: StreamsTaskAssignment, since 0;
        /// The tasks that the member is to have.
        target_assignment: StreamsTaskAssignment, since 0;
        /// True for a member of the classic protocol.
        is_classic: bool, since 0;
    }
}

wire_struct! {
    /// An address.
    response struct StreamsEndpoint is "Endpoint" {
        /// The host.
        host: String, since 0;
        /// The port.
        port: u16, since 0;
    }
}

wire_struct! {
    /// The offset of a task.
    response struct StreamsTaskOffset is "TaskOffset" {
        /// The subtopology.
        subtopology_id: String, since 0;
        /// The partition.
        partition: i32, since 0;
        /// The offset; −1: none.
        offset: i64, since 0;
    }
}

wire_struct! {
    /// The tasks of a member.
    response struct StreamsTaskAssignment is "Assignment" {
        /// The active tasks.
        active_tasks: Vec<StreamsTaskIds>, since 0;
        /// The standby tasks.
        standby_tasks: Vec<StreamsTaskIds>, since 0;
        /// The tasks that warm up.
        warmup_tasks: Vec<StreamsTaskIds>, since 0;
    }
}

wire_struct! {
    /// Tasks of a subtopology.
    response struct StreamsTaskIds is "TaskIds" {
        /// The subtopology.
        subtopology_id: String, since 0;
        /// The partitions.
        partitions: Vec<i32>, since 0;
    }
}

wire_struct! {
    /// The nodes of a topology, for people.
    response struct StreamsDescription is "TopologyDescription" {
        /// The subtopologies.
        subtopologies: Vec<StreamsSubtopologyNodes>, since 1;
        /// The global stores.
        global_stores: Vec<StreamsGlobalStore>, since 1;
    }
}

wire_struct! {
    /// The nodes of a subtopology.
    response struct StreamsSubtopologyNodes is "TopologyDescriptionSubtopology" {
        /// The subtopology.
        subtopology_id: String, since 1;
        /// The nodes.
        nodes: Vec<StreamsNode>, since 1;
    }
}

wire_struct! {
    /// A node of a topology.
    response struct StreamsNode is "TopologyDescriptionNode" {
        /// The name.
        name: String, since 1;
        /// The kind of node, as a number of Kafka's.
        node_type: i8, since 1;
        /// The topics that are read.
        source_topics: Vec<String>, since 1;
        /// The topic that is written.
        sink_topic: Option<String> = None, since 1, nullable 1;
        /// The stores.
        stores: Vec<String>, since 1;
        /// The nodes behind it.
        successors: Vec<String>, since 1;
    }
}

wire_struct! {
    /// A global store with the node that fills it.
    response struct StreamsGlobalStore is "TopologyDescriptionGlobalStore" {
        /// The node that reads.
        source: StreamsNode, since 1;
        /// The node that fills the store.
        processor: StreamsNode, since 1;
    }
}
