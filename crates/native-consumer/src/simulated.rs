//! A broker for tests, which coordinates a group of one member and leads a topic of which it has all records.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use kafka_assigner_kafka::BrokerAddress;
use kafka_assigner_kafka::messages::{
    ApiVersionsRequest, FetchPartition, FetchRequest, FetchResponse, FetchedPartition, FetchedTopic,
    FindCoordinatorRequest, FindCoordinatorResponse, FoundCoordinator, GroupHeartbeatRequest,
    GroupHeartbeatResponse, JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember, LeaveGroupRequest,
    LeaveGroupResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic, OffsetCommitRequest,
    OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic, OffsetFetchRequest,
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
    SyncGroupRequest, SyncGroupResponse,
};
use kafka_assigner_kafka::records::{BatchDraft, DraftRecord};
use kafka_assigner_kafka::testing::{every_version, offsets_of_logs, reply};
use kafka_assigner_kafka::wire::{ApiRequest as _, CodecError, RecordBytes, RequestHeader, Uuid, WireReader};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The topic.
pub(crate) const TOPIC: &str = "t";

const ID: Uuid = Uuid([7; 16]);

/// The node of the broker.
const NODE: i32 = 1;

/// A commit as the broker got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenCommit {
    pub(crate) member: String,
    pub(crate) generation: i32,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// The knowledge and the manners of the broker.
#[derive(Debug, Default)]
pub(crate) struct SimulatedState {
    /// The number of partitions.
    pub(crate) partitions: i32,
    /// The number of records in each, with those that retention has dropped.
    pub(crate) records: i64,
    /// The first record that the log still has.
    pub(crate) first: i64,
    /// The error of the next heartbeat.
    pub(crate) beat_error: i16,
    /// The error of the next commit.
    pub(crate) commit_error: i16,
    /// The error of the next fetch, in each partition.
    pub(crate) fetch_error: i16,
    /// The partition that every fetch has this error for.
    pub(crate) refused: Option<(i32, i16)>,
    /// Questions for metadata so far.
    pub(crate) looks: usize,
    /// True where no partition has a leader.
    pub(crate) is_leaderless: bool,
    /// The error of all fetches as a whole.
    pub(crate) fetch_refusal: i16,
    /// The errors of the next questions for the coordinator.
    pub(crate) finder_errors: VecDeque<i16>,
    pub(crate) generation: i32,
    /// The members that have been there so far.
    pub(crate) members: i32,
    /// The member that is there.
    pub(crate) member: String,
    pub(crate) commits: Vec<SeenCommit>,
    pub(crate) committed: BTreeMap<i32, i64>,
    /// The committed offsets of the time at which the member last joined.
    pub(crate) committed_at_join: BTreeMap<i32, i64>,
    pub(crate) beats: usize,
    pub(crate) fetches: usize,
    /// The offset of the last fetch.
    pub(crate) fetched_from: i64,
    pub(crate) has_left: bool,
}

/// The broker; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct SimulatedBroker {
    pub(crate) address: BrokerAddress,
    state: Arc<Mutex<SimulatedState>>,
    _serving: JoinSet<()>,
}

impl SimulatedBroker {
    pub(crate) async fn start(partitions: i32, records: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = BrokerAddress { host: "127.0.0.1".to_owned(), port };
        let state = SimulatedState { partitions, records, ..SimulatedState::default() };
        let state = Arc::new(Mutex::new(state));
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, port, Arc::clone(&state)));
        Self { address, state, _serving: serving }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SimulatedState> {
        self.state.lock().unwrap()
    }
}

async fn accept(listener: TcpListener, port: u16, state: Arc<Mutex<SimulatedState>>) {
    let mut clients = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        clients.spawn(async move { serve(client, port, &state).await.ok() });
    }
}

async fn serve(mut client: TcpStream, port: u16, state: &Mutex<SimulatedState>) -> io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        let mut frame = vec![0; length as usize];
        client.read_exact(&mut frame).await?;
        let (answer, is_quiet) = state.lock().unwrap().answer(&frame.into(), port).unwrap();
        if is_quiet {
            // As a broker that waits for records.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        client.write_all(&answer).await?;
    }
}

impl SimulatedState {
    /// The answer, and whether it has no records.
    fn answer(&mut self, frame: &Bytes, port: u16) -> Result<(Vec<u8>, bool), CodecError> {
        let key = RequestHeader::read(&mut WireReader::new(frame))?.key;
        let answer = match key {
            FetchRequest::KEY => {
                let mut is_quiet = true;
                let answer = reply(frame, |request: FetchRequest| {
                    let answer = self.fetch(&request);
                    is_quiet = answer.error_code == 0
                        && answer.responses[..].iter().all(|topic| {
                            topic.partitions.iter().all(|partition| partition.records.is_none())
                        });
                    answer
                })?;
                return Ok((answer, is_quiet));
            }
            ApiVersionsRequest::KEY => reply(frame, |_: ApiVersionsRequest| every_version()),
            MetadataRequest::KEY => {
                self.looks += 1;
                reply(frame, |_: MetadataRequest| self.metadata(port))
            }
            FindCoordinatorRequest::KEY => {
                let error = self.finder_errors.pop_front().unwrap_or_default();
                reply(frame, |request: FindCoordinatorRequest| coordinator(&request, port, error))
            }
            JoinGroupRequest::KEY => reply(frame, |request| self.join(&request)),
            SyncGroupRequest::KEY => reply(frame, Self::sync),
            GroupHeartbeatRequest::KEY => reply(frame, |request| self.beat(&request)),
            LeaveGroupRequest::KEY => reply(frame, |_: LeaveGroupRequest| {
                self.has_left = true;
                LeaveGroupResponse::default()
            }),
            ListOffsetsRequest::KEY => reply(frame, |request| self.list(&request)),
            OffsetFetchRequest::KEY => reply(frame, |_: OffsetFetchRequest| self.offsets()),
            OffsetCommitRequest::KEY => reply(frame, |request| self.commit(&request)),
            key => panic!("the broker does not know the API {key}"),
        };
        Ok((answer?, false))
    }

    fn metadata(&self, port: u16) -> MetadataResponse {
        let broker = MetadataResponseBroker {
            node_id: NODE,
            host: "127.0.0.1".to_owned(),
            port: port.into(),
            rack: None,
        };
        let partition = |partition_index| MetadataResponsePartition {
            partition_index,
            leader_id: if self.is_leaderless { -1 } else { NODE },
            leader_epoch: 0,
            replica_nodes: vec![NODE],
            ..MetadataResponsePartition::default()
        };
        let topic = MetadataResponseTopic {
            name: Some(TOPIC.to_owned()),
            topic_id: ID,
            partitions: (0..self.partitions).map(partition).collect(),
            ..MetadataResponseTopic::default()
        };
        MetadataResponse { brokers: vec![broker], topics: vec![topic], ..MetadataResponse::default() }
    }

    fn join(&mut self, request: &JoinGroupRequest) -> JoinGroupResponse {
        if request.member_id.is_empty() {
            self.members += 1;
            self.member = format!("member-{}", self.members);
            return JoinGroupResponse {
                error_code: 79,
                member_id: self.member.clone(),
                protocol_name: Some(String::new()),
                ..JoinGroupResponse::default()
            };
        }
        if request.member_id != self.member {
            return JoinGroupResponse {
                error_code: 25,
                protocol_name: Some(String::new()),
                ..JoinGroupResponse::default()
            };
        }
        self.generation += 1;
        self.committed_at_join = self.committed.clone();
        let member = JoinGroupResponseMember {
            member_id: self.member.clone(),
            metadata: request.protocols[0].metadata.clone(),
            ..JoinGroupResponseMember::default()
        };
        JoinGroupResponse {
            generation_id: self.generation,
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some(request.protocols[0].name.clone()),
            leader: self.member.clone(),
            member_id: self.member.clone(),
            members: vec![member],
            ..JoinGroupResponse::default()
        }
    }

    fn sync(mut request: SyncGroupRequest) -> SyncGroupResponse {
        SyncGroupResponse {
            protocol_type: request.protocol_type,
            protocol_name: request.protocol_name,
            assignment: request.assignments.remove(0).assignment,
            ..SyncGroupResponse::default()
        }
    }

    fn beat(&mut self, request: &GroupHeartbeatRequest) -> GroupHeartbeatResponse {
        self.beats += 1;
        let mut error_code = std::mem::take(&mut self.beat_error);
        if error_code == 25 {
            self.member.clear();
        } else if request.member_id != self.member {
            error_code = 25;
        }
        GroupHeartbeatResponse { error_code, ..GroupHeartbeatResponse::default() }
    }

    fn list(&self, request: &ListOffsetsRequest) -> ListOffsetsResponse {
        offsets_of_logs(request, |timestamp| if timestamp == -1 { self.records } else { self.first })
    }

    fn offsets(&self) -> OffsetFetchResponse {
        let partition = |partition_index| OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: self.committed.get(&partition_index).copied().unwrap_or(-1),
            metadata: Some(String::new()),
            ..OffsetFetchResponsePartitions::default()
        };
        let topic = OffsetFetchResponseTopics {
            topic_id: ID,
            partitions: (0..self.partitions).map(partition).collect(),
            ..OffsetFetchResponseTopics::default()
        };
        let group = OffsetFetchResponseGroup {
            group_id: "g".to_owned(),
            topics: vec![topic],
            ..OffsetFetchResponseGroup::default()
        };
        OffsetFetchResponse { groups: vec![group], ..OffsetFetchResponse::default() }
    }

    fn commit(&mut self, request: &OffsetCommitRequest) -> OffsetCommitResponse {
        let error_code = std::mem::take(&mut self.commit_error);
        let mut answered = Vec::new();
        for partition in request.topics.iter().flat_map(|topic| &topic.partitions) {
            self.commits.push(SeenCommit {
                member: request.member_id.clone(),
                generation: request.generation_id_or_member_epoch,
                partition: partition.partition_index,
                offset: partition.committed_offset,
            });
            if error_code == 0 {
                self.committed.insert(partition.partition_index, partition.committed_offset);
            }
            let partition_index = partition.partition_index;
            answered.push(OffsetCommitResponsePartition { partition_index, error_code });
        }
        if error_code == 25 {
            self.member.clear();
        }
        let topic = OffsetCommitResponseTopic {
            topic_id: ID,
            partitions: answered,
            ..OffsetCommitResponseTopic::default()
        };
        OffsetCommitResponse { topics: vec![topic], ..OffsetCommitResponse::default() }
    }

    /// Two records of each partition that is asked for, without a session.
    fn fetch(&mut self, request: &FetchRequest) -> FetchResponse {
        self.fetches += 1;
        if self.fetch_refusal != 0 {
            return FetchResponse { error_code: self.fetch_refusal, ..FetchResponse::default() };
        }
        let told = std::mem::take(&mut self.fetch_error);
        let asked = request.topics.iter().flat_map(|topic| &topic.partitions);
        self.fetched_from = asked.map(|asked| asked.fetch_offset).next_back().unwrap_or(self.fetched_from);
        let partition = |asked: &FetchPartition| {
            let from = asked.fetch_offset;
            let refused = self.refused.filter(|(partition, _)| *partition == asked.partition);
            let error_code = if from < self.first { 1 } else { refused.map_or(told, |(_, error)| error) };
            let numbers = from..self.records.min(from + 2);
            let drafts: Vec<_> = numbers.map(|number| DraftRecord::of_value(number.to_string())).collect();
            let is_empty = drafts.is_empty() || error_code != 0;
            FetchedPartition {
                partition_index: asked.partition,
                error_code,
                records: (!is_empty).then(|| RecordBytes(BatchDraft::new(from, drafts).write())),
                ..FetchedPartition::default()
            }
        };
        let partitions = request.topics.iter().flat_map(|topic| &topic.partitions).map(partition).collect();
        let topic = FetchedTopic { topic_id: ID, partitions, ..FetchedTopic::default() };
        FetchResponse { responses: vec![topic], ..FetchResponse::default() }
    }
}

fn coordinator(request: &FindCoordinatorRequest, port: u16, error_code: i16) -> FindCoordinatorResponse {
    let found = FoundCoordinator {
        key: request.coordinator_keys[0].clone(),
        error_code,
        node_id: NODE,
        host: "127.0.0.1".to_owned(),
        port: port.into(),
        ..FoundCoordinator::default()
    };
    FindCoordinatorResponse { coordinators: vec![found], ..FindCoordinatorResponse::default() }
}
