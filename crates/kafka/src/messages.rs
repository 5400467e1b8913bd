//! The messages that this crate knows, one module for each API.
//!
//! To add one, copy its table from the schemas in Kafka's jar (`common/message/*.json`), add a line of `apis!`, and
//! the test that compares tables and schemas takes it in. Its fields keep Kafka's names.

mod api_versions;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod describe_groups;
mod fetch;
mod find_coordinator;
mod heartbeat;
mod join_group;
mod leave_group;
mod list_groups;
mod list_offsets;
mod metadata;
mod offset_commit;
mod offset_fetch;
mod offset_for_leader_epoch;
mod sasl;
mod share_group_describe;
mod share_group_offsets;
mod streams_group_describe;
mod sync_group;

pub use api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
pub use consumer_group_describe::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedConsumerAssignment,
    DescribedConsumerGroup, DescribedConsumerMember, DescribedConsumerTopic,
};
pub use consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatAssignedTopic,
    HeartbeatAssignment, HeartbeatOwnedTopic,
};
pub use describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedClassicGroup, DescribedClassicMember,
};
pub use fetch::{
    AbortedTransaction, DivergingEpoch, FetchEndpoint, FetchPartition, FetchReplicaState, FetchRequest,
    FetchResponse, FetchTopic, FetchedPartition, FetchedSnapshot, FetchedTopic, ForgottenTopic,
    LeaderAndEpoch,
};
pub use find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse, FoundCoordinator};
pub use heartbeat::{GroupHeartbeatRequest, GroupHeartbeatResponse};
pub use join_group::{
    JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember,
};
pub use leave_group::{LeaveGroupRequest, LeaveGroupResponse, LeavingMember, LeftMember};
pub use list_groups::{GroupListRequest, GroupListResponse, ListedGroup};
pub use list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopic, ListOffsetsTopicResponse,
};
pub use metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
pub use offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
pub use offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
pub use offset_for_leader_epoch::{
    LeaderEpochEnd, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopic, OffsetForLeaderTopicResult,
};
pub use sasl::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
pub use share_group_describe::{
    DescribedShareAssignment, DescribedShareGroup, DescribedShareMember, DescribedShareTopic,
    ShareGroupDescribeRequest, ShareGroupDescribeResponse,
};
pub use share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse, ShareOffsetsGroup,
    ShareOffsetsPartition, ShareOffsetsRequestGroup, ShareOffsetsRequestTopic, ShareOffsetsTopic,
};
pub use streams_group_describe::{
    DescribedStreamsGroup, DescribedStreamsMember, StreamsDescription, StreamsEndpoint, StreamsGlobalStore,
    StreamsGroupDescribeRequest, StreamsGroupDescribeResponse, StreamsKeyValue, StreamsNode,
    StreamsSubtopology, StreamsSubtopologyNodes, StreamsTaskAssignment, StreamsTaskIds, StreamsTaskOffset,
    StreamsTopicInfo, StreamsTopology,
};
pub use sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use bytes::Bytes;

use crate::wire::{ApiRequest, CodecError, VersionRange, WireField, WireType, read_answer};

/// An answer to somebody who knows nothing of the broker yet must be short: 64 KiB is more than a hundred times that of Kafka 4.4.
const OPENING: usize = 64 * 1024;

/// The answer to a request for metadata; see [`MetadataRequest::MOST_TOPICS`].
const METADATA: usize = 32 * 1024 * 1024;

/// The answer to a heartbeat, or to a request for one coordinator: a number, a host, some words.
const SHORT: usize = 64 * 1024;

/// One member's part of a plan. 250 000 partitions of a topic take 1 MiB.
const PART: usize = 16 * 1024 * 1024;

/// The offsets or the groups of one broker: 500 000 partitions with words beside each.
const OFFSETS: usize = 32 * 1024 * 1024;

/// All members of a group with all that they own; Kafka's own limit of a message of a group is its log's, and far below.
const GROUP: usize = 100 * 1024 * 1024;

/// Records: twice the default of Kafka's `fetch.max.bytes`, since one batch comes whatever its size.
const FETCH: usize = 100 * 1024 * 1024;

/// One API as this crate knows it, for the comparison with Kafka's schemas.
#[derive(Debug, Clone, Copy)]
pub struct ApiTable {
    /// The number of the API.
    pub key: i16,
    /// Its name.
    pub name: &'static str,
    /// The versions that the tables know.
    pub versions: VersionRange,
    /// The first flexible version; `i16::MAX` where there is none.
    pub flexible_since: i16,
    /// The fields of the request.
    pub request: fn() -> &'static [WireField],
    /// The fields of the answer.
    pub answer: fn() -> &'static [WireField],
    /// Reads an answer to request 0 in a version, and forgets it.
    pub try_answer: fn(&Bytes, i16) -> Result<(), CodecError>,
}

/// Makes requests of structs, and lists them.
macro_rules! apis {
    ($($name:literal $key:literal: $request:ident => $answer:ident, versions $first:literal to $last:literal,
        flexible $flexible:expr, used since $oldest:literal, at most $most:expr;)+) => {
        $(
            impl ApiRequest for $request {
                type Answer = $answer;
                const KEY: i16 = $key;
                const NAME: &'static str = $name;
                const VERSIONS: VersionRange = VersionRange::new($first, $last);
                const FLEXIBLE_SINCE: i16 = $flexible;
                const OLDEST: i16 = $oldest;
                const MOST_BYTES: usize = $most;
            }
        )+

        /// Every API that this crate knows.
        pub const APIS: &[ApiTable] = &[
            $( ApiTable {
                key: $key,
                name: $name,
                versions: <$request as ApiRequest>::VERSIONS,
                flexible_since: $flexible,
                request: <$request as WireType>::fields,
                answer: <$answer as WireType>::fields,
                try_answer: |frame, version| read_answer::<$request>(frame, version, 0).map(drop),
            }, )+
        ];
    };
}

apis! {
    "Fetch" 1: FetchRequest => FetchResponse, versions 4 to 18, flexible 12, used since 4, at most FETCH;
    "ListOffsets" 2: ListOffsetsRequest => ListOffsetsResponse, versions 1 to 11, flexible 6, used since 4,
        at most OFFSETS;
    "Metadata" 3: MetadataRequest => MetadataResponse, versions 0 to 13, flexible 9, used since 9, at most METADATA;
    "OffsetCommit" 8: OffsetCommitRequest => OffsetCommitResponse, versions 2 to 10, flexible 8, used since 7,
        at most OFFSETS;
    "OffsetFetch" 9: OffsetFetchRequest => OffsetFetchResponse, versions 1 to 10, flexible 6, used since 5,
        at most OFFSETS;
    "FindCoordinator" 10: FindCoordinatorRequest => FindCoordinatorResponse, versions 0 to 6, flexible 3, used since 3,
        at most SHORT;
    "JoinGroup" 11: JoinGroupRequest => JoinGroupResponse, versions 0 to 9, flexible 6, used since 5, at most GROUP;
    "Heartbeat" 12: GroupHeartbeatRequest => GroupHeartbeatResponse, versions 0 to 4, flexible 4, used since 3,
        at most SHORT;
    "LeaveGroup" 13: LeaveGroupRequest => LeaveGroupResponse, versions 0 to 5, flexible 4, used since 3,
        at most SHORT;
    "SyncGroup" 14: SyncGroupRequest => SyncGroupResponse, versions 0 to 5, flexible 4, used since 3, at most PART;
    "DescribeGroups" 15: DescribeGroupsRequest => DescribeGroupsResponse, versions 0 to 6, flexible 5, used since 3,
        at most GROUP;
    "ListGroups" 16: GroupListRequest => GroupListResponse, versions 0 to 5, flexible 3, used since 3, at most OFFSETS;
    "SaslHandshake" 17: SaslHandshakeRequest => SaslHandshakeResponse, versions 0 to 1, flexible i16::MAX,
        used since 1, at most OPENING;
    "ApiVersions" 18: ApiVersionsRequest => ApiVersionsResponse, versions 0 to 5, flexible 3, used since 0,
        at most OPENING;
    "OffsetForLeaderEpoch" 23: OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse, versions 2 to 4, flexible 4,
        used since 3, at most OFFSETS;
    "SaslAuthenticate" 36: SaslAuthenticateRequest => SaslAuthenticateResponse, versions 0 to 2, flexible 2,
        used since 0, at most OPENING;
    "ConsumerGroupHeartbeat" 68: ConsumerGroupHeartbeatRequest => ConsumerGroupHeartbeatResponse, versions 0 to 1,
        flexible 0, used since 1, at most PART;
    "ConsumerGroupDescribe" 69: ConsumerGroupDescribeRequest => ConsumerGroupDescribeResponse, versions 0 to 1,
        flexible 0, used since 0, at most GROUP;
    "ShareGroupDescribe" 77: ShareGroupDescribeRequest => ShareGroupDescribeResponse, versions 1 to 1, flexible 0,
        used since 1, at most GROUP;
    "StreamsGroupDescribe" 89: StreamsGroupDescribeRequest => StreamsGroupDescribeResponse, versions 0 to 1, flexible 0,
        used since 0, at most GROUP;
    "DescribeShareGroupOffsets" 90: DescribeShareGroupOffsetsRequest => DescribeShareGroupOffsetsResponse,
        versions 0 to 1, flexible 0, used since 0, at most OFFSETS;
}
