//! A broker in the test's process with a topic of ten records, and grants of its partition.

use kafka_assigner_session::{ClaimTerm, Clock};
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::topic_id::TopicId;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{ClientConfig, TopicPartitionList};
use tokio::sync::Notify;

use super::*;
use crate::claim::SessionClaim;
use crate::context::{Alarm, Edges, WarmUpProgress};
use crate::gate::Gate;
use crate::record_gate::RecordGate;
use crate::skipped_offset::SkippedOffset;

pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Records of the topic.
pub(super) const RECORDS: i64 = 10;

pub(super) fn id(byte: u8) -> Option<TopicId> {
    TopicId::new([byte; 16])
}

pub(super) fn offset(number: i64) -> Offset {
    Offset::new(number).expect("not negative")
}

/// A grant of "t"-0 in the topic with the id 8 of each byte.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    /// The metadata under which offset 5 is committed; `None` = nothing is.
    pub(super) committed: Option<&'static str>,
    pub(super) start: Option<i64>,
}

impl Grant {
    pub(super) fn warm(self) -> WarmContext {
        WarmContext {
            group: "g".into(),
            partition: partition(),
            handoff: None,
            current_owner: None,
            failures: 0,
            start_offset: self.start.map(offset),
            topic_id: id(8),
            progress: Arc::new(WarmUpProgress::default()),
            cancelled: CancellationToken::new(),
        }
    }

    pub(super) fn reserved(self) -> ReservedContext {
        ReservedContext {
            group: "g".into(),
            partition: partition(),
            claim: self.owned().claim,
            until_offset: self.start.map(offset),
            topic_id: id(8),
            cancelled: CancellationToken::new(),
        }
    }

    pub(super) fn owned(self) -> OwnedContext {
        let (clock, wake) = (Clock::start(), Arc::new(Notify::new()));
        let (session, until) = (SessionClaim::new(clock.clone()), Moment(Duration::from_secs(36_000)));
        session.set(Some(ClaimTerm { overlap: until, strict: until }));
        OwnedContext {
            group: "g".into(),
            partition: partition(),
            claim: session.partition(Epoch(5), false),
            start_offset: self.start.map(offset),
            topic_id: id(8),
            resumed: false,
            was_committed: false,
            skipped: SkippedOffset::default(),
            gate: Gate::new(wake.clone()).into(),
            records: RecordGate::new(clock.clone(), wake.clone()).into(),
            edges: Edges::new(clock).into(),
            alarm: Alarm::new(wake),
            cancelled: CancellationToken::new(),
        }
    }
}

pub(super) fn partition() -> TopicPartition {
    TopicPartition::try_from(("t", 0)).expect("a valid name")
}

/// A broker with the records.
pub(super) struct TestBroker {
    cluster: MockCluster<'static, DefaultProducerContext>,
    config: ClientConfig,
}

impl TestBroker {
    pub(super) async fn start() -> Self {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 1, 1).expect("a new topic");
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", cluster.bootstrap_servers()).set("group.id", "g");
        let producer: FutureProducer = config.create().expect("a producer");
        for _ in 0..RECORDS {
            let record = FutureRecord::<(), _>::to("t").partition(0).payload("x");
            producer.send(record, PATIENCE).await.expect("it is written");
        }
        Self { cluster, config }
    }

    pub(super) fn servers(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// Has the broker refuse the next request of this kind.
    pub(super) fn refuse(&self, request: RDKafkaApiKey, error: RDKafkaRespErr) {
        self.cluster.request_errors(request, &[error]);
    }

    /// Nobody answers for the partition from now on.
    pub(super) fn lose_leader(&self) {
        self.cluster.partition_leader("t", 0, None).expect("there is the partition");
    }

    fn reader(&self) -> BaseConsumer {
        self.config.create().expect("a consumer")
    }

    pub(super) fn commit(&self, metadata: &str) {
        let mut list = TopicPartitionList::new();
        let mut element = list.add_partition("t", 0);
        element.set_offset(rdkafka::Offset::Offset(5)).expect("a valid offset");
        element.set_metadata(metadata);
        self.reader().commit(&list, CommitMode::Sync).expect("it is committed");
    }

    pub(super) fn committed(&self) -> (i64, String) {
        let mut list = TopicPartitionList::new();
        list.add_partition("t", 0);
        let committed = self.reader().committed_offsets(list, PATIENCE).expect("an answer");
        let element = committed.find_partition("t", 0).expect("asked for");
        let rdkafka::Offset::Offset(next) = element.offset() else { panic!("{:?}", element.offset()) };
        (next, element.metadata().to_owned())
    }
}
