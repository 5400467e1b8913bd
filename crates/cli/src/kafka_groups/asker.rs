//! Requests to brokers. Each has a deadline, and nothing is decided here.

use std::collections::BTreeMap;
use std::future::ready;
use std::time::Duration;

use futures::stream::{StreamExt as _, iter};
use kafka_assigner_kafka::messages::{
    ConsumerGroupDescribeRequest, DescribeGroupsRequest, DescribeShareGroupOffsetsRequest,
    DescribedClassicGroup, DescribedConsumerGroup, DescribedShareGroup, DescribedStreamsGroup,
    FindCoordinatorRequest, GroupListRequest, GroupListResponse, ListOffsetsRequest, ListOffsetsResponse,
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker, OffsetFetchRequest,
    OffsetFetchRequestGroup, OffsetFetchResponseGroup, ShareGroupDescribeRequest, ShareOffsetsGroup,
    ShareOffsetsRequestGroup, StreamsGroupDescribeRequest,
};
use kafka_assigner_kafka::wire::ApiRequest;
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Connector, Error, Options, TlsFileError};
use tokio::time::sleep;

use super::KafkaGroupsError;
use super::view::topics::{TopicKey, TopicsView};

/// The time of one answer. A coordinator that has just got a group reads its log first.
const PATIENCE: Duration = Duration::from_secs(10);

/// The brokers that are asked one after the other, where any of them can answer.
const MOST_ASKED: usize = 5;

/// The brokers that are asked at a time, where all are asked.
const AT_A_TIME: usize = 16;

/// The number of times that a coordinator is asked for that is not there yet: a new cluster makes the topic of offsets first.
const TRIES: usize = 20;

/// The wait between two tries.
const BETWEEN: Duration = Duration::from_millis(500);

/// `COORDINATOR_NOT_AVAILABLE`.
const NOT_AVAILABLE: i16 = 15;

/// Asks brokers about groups.
#[derive(Debug)]
pub(super) struct GroupAsker {
    pool: BrokerPool,
    bootstrap: Vec<BrokerAddress>,
}

/// The broker that coordinates a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupPlace {
    pub(super) node: i32,
    pub(super) address: BrokerAddress,
}

/// The list of each broker, or the reason for which it has none.
pub(super) type BrokerLists = Vec<(BrokerAddress, Result<GroupListResponse, Error>)>;

impl GroupAsker {
    pub(super) fn new(options: &Options) -> Result<Self, TlsFileError> {
        let pool = BrokerPool::new(Connector::new(options)?);
        Ok(Self { pool, bootstrap: options.bootstrap.clone() })
    }

    /// The groups of every broker.
    pub(super) async fn lists(&self) -> Result<BrokerLists, KafkaGroupsError> {
        let brokers = self.brokers().await?;
        let list = |broker: BrokerAddress| async move {
            let answer = self.ask(&broker, |_| GroupListRequest::default()).await;
            (broker, answer)
        };
        Ok(iter(brokers).map(list).buffered(AT_A_TIME).collect().await)
    }

    /// The groups of one broker.
    pub(super) async fn list(&self, broker: &BrokerAddress) -> Result<GroupListResponse, KafkaGroupsError> {
        let answer = self.ask(broker, |_| GroupListRequest::default()).await;
        let answer = answer.map_err(KafkaGroupsError::Broker)?;
        accepted(broker, GroupListRequest::NAME, answer.error_code, None)?;
        Ok(answer)
    }

    async fn brokers(&self) -> Result<Vec<BrokerAddress>, KafkaGroupsError> {
        let answer: MetadataResponse = self.ask_any(|_| MetadataRequest::of_names([])).await?.1;
        let address = |broker: &MetadataResponseBroker| BrokerAddress::new(&broker.host, broker.port);
        Ok(answer.brokers.iter().filter_map(address).collect())
    }

    /// The coordinator of `group`. One that is not there yet is asked for again, for ten seconds.
    pub(super) async fn coordinator(&self, group: &str) -> Result<GroupPlace, KafkaGroupsError> {
        for _ in 1..TRIES {
            match self.find(group).await {
                Err(KafkaGroupsError::Refused { code: NOT_AVAILABLE, .. }) => sleep(BETWEEN).await,
                found => return found,
            }
        }
        self.find(group).await
    }

    async fn find(&self, group: &str) -> Result<GroupPlace, KafkaGroupsError> {
        let (broker, answer) =
            self.ask_any(|version| FindCoordinatorRequest::of_group(group, version)).await?;
        match answer.of_group(group) {
            Ok((node, address)) => Ok(GroupPlace { node, address }),
            Err(code) => Err(refused(&broker, FindCoordinatorRequest::NAME, code, None)),
        }
    }

    /// A group of the classic protocol.
    pub(super) async fn classic(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<DescribedClassicGroup, KafkaGroupsError> {
        let request = |_| DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
        self.one(place, request, |answer| answer.groups).await
    }

    /// A consumer group.
    pub(super) async fn consumer(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<DescribedConsumerGroup, KafkaGroupsError> {
        let group_ids = vec![group.to_owned()];
        let request = |_| ConsumerGroupDescribeRequest { group_ids, ..Default::default() };
        self.one(place, request, |answer| answer.groups).await
    }

    /// A share group.
    pub(super) async fn share(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<DescribedShareGroup, KafkaGroupsError> {
        let group_ids = vec![group.to_owned()];
        let request = |_| ShareGroupDescribeRequest { group_ids, ..Default::default() };
        self.one(place, request, |answer| answer.groups).await
    }

    /// A streams group.
    pub(super) async fn streams(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<DescribedStreamsGroup, KafkaGroupsError> {
        let group_ids = vec![group.to_owned()];
        let request = |_| StreamsGroupDescribeRequest { group_ids, ..Default::default() };
        self.one(place, request, |answer| answer.groups).await
    }

    /// All committed offsets of a group.
    pub(super) async fn committed(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<OffsetFetchResponseGroup, KafkaGroupsError> {
        let request = |version| {
            let group =
                OffsetFetchRequestGroup { group_id: group.to_owned(), topics: None, ..Default::default() };
            // The offsets that are committed now, also where a transaction has more that is not decided.
            OffsetFetchRequest { require_stable: false, ..OffsetFetchRequest::of_group(group, version) }
        };
        let answer = self.ask(&place.address, request).await.map_err(KafkaGroupsError::Broker)?;
        let found = answer.into_group();
        accepted(&place.address, OffsetFetchRequest::NAME, found.error_code, None)?;
        Ok(found)
    }

    /// All offsets of a share group.
    pub(super) async fn shared_offsets(
        &self,
        place: &GroupPlace,
        group: &str,
    ) -> Result<ShareOffsetsGroup, KafkaGroupsError> {
        let request = |_| {
            let group = ShareOffsetsRequestGroup { group_id: group.to_owned(), topics: None };
            DescribeShareGroupOffsetsRequest { groups: vec![group] }
        };
        self.one(place, request, |answer| answer.groups).await
    }

    /// Names and leaders of topics, some hundred at a time.
    pub(super) async fn topics(&self, keys: &[TopicKey]) -> Result<TopicsView, KafkaGroupsError> {
        let mut topics = TopicsView::default();
        for part in keys.chunks(MetadataRequest::MOST_TOPICS) {
            let asked = || part.iter().map(TopicKey::asked).collect::<Vec<MetadataRequestTopic>>();
            let request = |_| MetadataRequest { topics: Some(asked()), ..MetadataRequest::of_names([]) };
            topics.learn(self.ask_any(request).await?.1);
        }
        Ok(topics)
    }

    /// The answers of leaders about the ends of their partitions. Those of leaders that don't answer are missing.
    pub(super) async fn ends(
        &self,
        requests: BTreeMap<BrokerAddress, ListOffsetsRequest>,
    ) -> Vec<ListOffsetsResponse> {
        let ask = |(leader, request): (BrokerAddress, ListOffsetsRequest)| async move {
            self.ask(&leader, |_| request).await.ok()
        };
        iter(requests).map(ask).buffered(AT_A_TIME).filter_map(ready).collect().await
    }

    /// The one group of an answer, unless the broker refuses it.
    async fn one<R: ApiRequest, G: DescribedGroup>(
        &self,
        place: &GroupPlace,
        make: impl FnOnce(i16) -> R,
        groups: impl FnOnce(R::Answer) -> Vec<G>,
    ) -> Result<G, KafkaGroupsError> {
        let broker = &place.address;
        let answer = self.ask(broker, make).await.map_err(KafkaGroupsError::Broker)?;
        let missing = || KafkaGroupsError::Missing { broker: broker.clone(), asked: R::NAME };
        let found = groups(answer).into_iter().next().ok_or_else(missing)?;
        let (code, message) = found.error();
        accepted(broker, R::NAME, code, message)?;
        Ok(found)
    }

    async fn ask<R: ApiRequest>(
        &self,
        broker: &BrokerAddress,
        make: impl FnOnce(i16) -> R,
    ) -> Result<R::Answer, Error> {
        self.pool.ask(broker, BrokerLane::Requests, make, PATIENCE).await.map(|(answer, _)| answer)
    }

    /// Asks one broker of the settings after the other until one answers, which is returned with its answer.
    async fn ask_any<R: ApiRequest>(
        &self,
        make: impl Fn(i16) -> R,
    ) -> Result<(BrokerAddress, R::Answer), KafkaGroupsError> {
        let mut last = KafkaGroupsError::NoBroker;
        for (asked, broker) in (1..).zip(self.bootstrap.iter().take(MOST_ASKED)) {
            match self.ask(broker, &make).await {
                Ok(answer) => return Ok((broker.clone(), answer)),
                Err(source) => last = KafkaGroupsError::Unreachable { asked, source },
            }
        }
        Err(last)
    }
}

/// A group in an answer, which has an error of its own.
trait DescribedGroup {
    /// The number of its error, 0 = none, and the broker's words about it.
    fn error(&self) -> (i16, Option<&String>);
}

macro_rules! described_groups {
    ($($group:ty),+) => {
        $(impl DescribedGroup for $group {
            fn error(&self) -> (i16, Option<&String>) {
                (self.error_code, self.error_message.as_ref())
            }
        })+
    };
}

described_groups!(
    DescribedClassicGroup,
    DescribedConsumerGroup,
    DescribedShareGroup,
    DescribedStreamsGroup,
    ShareOffsetsGroup
);

fn accepted(
    broker: &BrokerAddress,
    asked: &'static str,
    code: i16,
    message: Option<&String>,
) -> Result<(), KafkaGroupsError> {
    if code == 0 { Ok(()) } else { Err(refused(broker, asked, code, message)) }
}

fn refused(
    broker: &BrokerAddress,
    asked: &'static str,
    code: i16,
    message: Option<&String>,
) -> KafkaGroupsError {
    let message = message.cloned().unwrap_or_default();
    KafkaGroupsError::Refused { broker: broker.clone(), asked, code, message }
}
