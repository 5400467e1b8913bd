//! A broker that does what a test says.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::address::BrokerAddress;
use crate::messages::{
    APIS, ApiTable, ApiVersion, ApiVersionsRequest, ApiVersionsResponse, ListOffsetsPartition,
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
    ListOffsetsTopicResponse, MetadataRequest, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::{
    ApiRequest, CodecError, Decode, Encode, RequestHeader, Uuid, WireReader, answer_frame, read_request,
};

/// A topic of a [`FakeBroker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FakeTopic {
    /// The number of its partitions.
    pub partitions: u32,
    /// Its id; zero: none.
    pub id: Uuid,
    /// Kafka's number of the error with which the broker answers; 0: none.
    pub error: i16,
}

/// The knowledge and the manners of a [`FakeBroker`].
#[derive(Debug, Default)]
pub struct FakeState {
    /// The topics.
    pub topics: BTreeMap<String, FakeTopic>,
    /// The brokers that it names, beside itself.
    pub others: Vec<BrokerAddress>,
    /// The newest version of Metadata that it knows; `None`: as this crate.
    pub newest_metadata: Option<i16>,
    /// True if it accepts connections and never answers.
    pub silent: bool,
    /// True if it closes each connection after an answer.
    pub closes: bool,
    /// The bytes that it sends in place of an answer to Metadata.
    pub nonsense: Option<Vec<u8>>,
    /// A topic whose answer, it says, is longer than anybody reads.
    pub too_long: Option<String>,
    /// The error of a whole answer to Metadata; 0: none.
    pub error: i16,
    /// The names of each request for metadata so far.
    pub asked: Vec<Vec<String>>,
    /// The number of connections so far.
    pub accepted: usize,
    /// The connections, each of which ends with its task.
    clients: Vec<AbortHandle>,
}

/// A broker on a loopback port, without TLS and login; it ends when it is dropped.
#[derive(Debug)]
pub struct FakeBroker {
    /// The address at which it listens.
    pub address: BrokerAddress,
    state: Arc<Mutex<FakeState>>,
    /// Ends with the value.
    _serving: JoinSet<()>,
}

impl FakeBroker {
    /// Starts it, without topics.
    ///
    /// # Errors
    /// An I/O error where there is no free port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = BrokerAddress { host: "127.0.0.1".to_owned(), port: listener.local_addr()?.port() };
        let state = Arc::<Mutex<FakeState>>::default();
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, address.clone(), Arc::clone(&state)));
        Ok(Self { address, state, _serving: serving })
    }

    /// Its knowledge and manners from now on.
    ///
    /// # Panics
    /// After a panic of a test that held it.
    pub fn state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().expect("nothing panics while it is held")
    }

    /// Ends all connections.
    pub fn disconnect_all(&self) {
        self.state().clients.drain(..).for_each(|client| client.abort());
    }

    /// Gives it a topic.
    pub fn topic(&self, name: &str, partitions: u32, id: u8) {
        let topic = FakeTopic { partitions, id: Uuid([id; 16]), error: 0 };
        self.state().topics.insert(name.to_owned(), topic);
    }
}

async fn accept(listener: TcpListener, own: BrokerAddress, state: Arc<Mutex<FakeState>>) {
    let mut clients = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (own, serving) = (own.clone(), Arc::clone(&state));
        let client = clients.spawn(async move {
            // It ends with the client.
            let _ended = serve(client, &own, &serving).await;
        });
        let Ok(mut state) = state.lock() else { return };
        state.accepted += 1;
        state.clients.push(client);
    }
}

async fn serve(mut client: TcpStream, own: &BrokerAddress, state: &Mutex<FakeState>) -> io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        let mut frame = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        client.read_exact(&mut frame).await?;
        let (answer, closes) = {
            let mut state = state.lock().map_err(|_| io::Error::other("a test panicked"))?;
            (state.answer(&frame.into(), own).map_err(io::Error::other)?, state.closes)
        };
        match answer {
            Some(answer) => client.write_all(&answer).await?,
            None => std::future::pending().await,
        }
        if closes {
            return Ok(());
        }
    }
}

impl FakeState {
    fn answer(&mut self, frame: &Bytes, own: &BrokerAddress) -> Result<Option<Vec<u8>>, CodecError> {
        if self.silent {
            return Ok(None);
        }
        let header = RequestHeader::read(&mut WireReader::new(frame))?;
        match header.key {
            ApiVersionsRequest::KEY => reply(frame, |_: ApiVersionsRequest| self.versions()).map(Some),
            _ => match &self.nonsense {
                Some(nonsense) => Ok(Some(nonsense.clone())),
                None => self.metadata(frame, own).map(Some),
            },
        }
    }

    fn versions(&self) -> ApiVersionsResponse {
        let mut versions = every_version();
        for api in versions.api_keys.iter_mut().filter(|api| api.api_key == MetadataRequest::KEY) {
            api.max_version = self.newest_metadata.unwrap_or(api.max_version);
        }
        versions
    }

    fn metadata(&mut self, frame: &Bytes, own: &BrokerAddress) -> Result<Vec<u8>, CodecError> {
        let (header, request) = read_request::<MetadataRequest>(frame)?;
        let names: Vec<String> =
            request.topics.into_iter().flatten().filter_map(|topic| topic.name).collect();
        if self.too_long.as_ref().is_some_and(|long| names.contains(long)) {
            return Ok(i32::MAX.to_be_bytes().to_vec());
        }
        let brokers = std::iter::once(own).chain(&self.others).map(named).collect();
        let topics = names.iter().map(|name| self.told(name, header.version)).collect();
        let error_code = if header.version >= 13 { self.error } else { 0 };
        self.asked.push(names);
        let answer = MetadataResponse { brokers, topics, error_code, ..MetadataResponse::default() };
        answer_frame::<MetadataRequest>(&answer, header.version, header.correlation)
    }

    fn told(&self, name: &str, version: i16) -> MetadataResponseTopic {
        let absent = FakeTopic { error: 3, ..FakeTopic::default() };
        let topic = self.topics.get(name).copied().unwrap_or(absent);
        let partition = |number: u32| MetadataResponsePartition {
            partition_index: number.cast_signed(),
            replica_nodes: vec![1],
            isr_nodes: vec![1],
            ..MetadataResponsePartition::default()
        };
        MetadataResponseTopic {
            error_code: topic.error,
            name: Some(name.to_owned()),
            topic_id: if version >= MetadataRequest::WITH_IDS { topic.id } else { Uuid::ZERO },
            partitions: (0..topic.partitions).map(partition).collect(),
            ..MetadataResponseTopic::default()
        }
    }
}

/// The frame that answers the request in `frame` with what `answer` makes of it.
///
/// # Errors
/// [`CodecError`] where it is another request, or the version can't say the answer.
pub fn reply<R>(frame: &Bytes, answer: impl FnOnce(R) -> R::Answer) -> Result<Vec<u8>, CodecError>
where
    R: ApiRequest + Decode,
    R::Answer: Encode,
{
    let (header, request) = read_request::<R>(frame)?;
    answer_frame::<R>(&answer(request), header.version, header.correlation)
}

/// The versions of a broker that speaks all that this crate does.
#[must_use]
pub fn every_version() -> ApiVersionsResponse {
    let api = |table: &ApiTable| ApiVersion {
        api_key: table.key,
        min_version: 0,
        max_version: table.versions.last,
    };
    ApiVersionsResponse { api_keys: APIS.iter().map(api).collect(), ..ApiVersionsResponse::default() }
}

/// The answer about the offsets of logs that are all alike: `offset` tells the one for a timestamp; -1: the end.
#[must_use]
pub fn offsets_of_logs(request: &ListOffsetsRequest, offset: impl Fn(i64) -> i64) -> ListOffsetsResponse {
    let partition = |asked: &ListOffsetsPartition| ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        offset: offset(asked.timestamp),
        ..ListOffsetsPartitionResponse::default()
    };
    let topic = |topic: &ListOffsetsTopic| ListOffsetsTopicResponse {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(partition).collect(),
    };
    ListOffsetsResponse {
        topics: request.topics.iter().map(topic).collect(),
        ..ListOffsetsResponse::default()
    }
}

fn named(broker: &BrokerAddress) -> MetadataResponseBroker {
    MetadataResponseBroker {
        node_id: i32::from(broker.port),
        host: broker.host.clone(),
        port: i32::from(broker.port),
        rack: None,
    }
}

/// Reads `answer` as it comes back from the wire, for tests of what survives it.
///
/// # Errors
/// [`CodecError`] where the version can't say it, or the bytes are wrong.
pub fn round_trip<R: ApiRequest>(answer: &R::Answer, version: i16) -> Result<R::Answer, CodecError>
where
    R::Answer: Encode + Decode,
{
    let frame = Bytes::from(answer_frame::<R>(answer, version, 7)?).split_off(4);
    crate::wire::read_answer::<R>(&frame, version, 7)
}
