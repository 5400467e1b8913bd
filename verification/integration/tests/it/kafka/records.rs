//! Batches that a real broker compressed, over our own connections.

use std::time::Duration;

use kafka_assigner_kafka::messages::{FetchPartition, FetchRequest, FetchTopic, MetadataRequest};
use kafka_assigner_kafka::records::{BatchDecoder, Compression, Isolation, KafkaRecord, VisibleBatches};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Connector, Options};
use kafka_assigner_rig::kafka;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};

const PATIENCE: Duration = Duration::from_secs(30);
const RECORDS: i64 = 200;

/// A pool of links without TLS and login.
pub(super) fn pool() -> BrokerPool {
    BrokerPool::new(Connector::new(&Options { patience: PATIENCE, ..Options::new(Vec::new()) }).unwrap())
}

/// The leader of partition 0 of `topic`, and the topic's id.
async fn leader(pool: &BrokerPool, bootstrap: &BrokerAddress, topic: &str) -> (BrokerAddress, Uuid) {
    let request = |_| MetadataRequest::of_names([topic]);
    let (answer, _) = pool.ask(bootstrap, BrokerLane::Requests, request, PATIENCE).await.unwrap();
    let leader = answer.topics[0].partitions[0].leader_id;
    let broker = answer.brokers.iter().find(|broker| broker.node_id == leader).unwrap();
    (BrokerAddress::new(&broker.host, broker.port).unwrap(), answer.topics[0].topic_id)
}

/// Creates a topic, whose records the broker compresses by `codec`.
pub(super) async fn create(kafka: &str, topic: &str, partitions: i32, codec: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", kafka).create().unwrap();
    let topic = NewTopic::new(topic, partitions, TopicReplication::Fixed(1)).set("compression.type", codec);
    let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
    for created in admin.create_topics(&[topic], &options).await.unwrap() {
        created.unwrap();
    }
}

async fn produce(kafka: &str, topic: &str) {
    let producer: FutureProducer =
        ClientConfig::new().set("bootstrap.servers", kafka).set("linger.ms", "50").create().unwrap();
    let mut sent = Vec::new();
    for number in 0..RECORDS {
        let (key, value) = (format!("key {number}"), "value ".repeat(number as usize % 50));
        let headers = OwnedHeaders::new().insert(Header { key: "h", value: Some("v") });
        let record = FutureRecord::to(topic).key(&key).payload(&value).headers(headers);
        sent.push(producer.send_result(record).map_err(|(error, _)| error).unwrap());
    }
    for delivered in sent {
        delivered.await.unwrap().unwrap();
    }
}

fn fetch(topic: &str, topic_id: Uuid, fetch_offset: i64) -> FetchRequest {
    let partition =
        FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..FetchPartition::default() };
    let topic = FetchTopic { topic: topic.to_owned(), topic_id, partitions: vec![partition] };
    FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 1 << 20,
        topics: vec![topic],
        ..FetchRequest::default()
    }
}

/// All records of partition 0, and the codecs of their batches.
async fn read(kafka: &str, topic: &str) -> (Vec<KafkaRecord>, Vec<Compression>) {
    let (pool, bootstrap) = (pool(), kafka.parse().unwrap());
    let (leader, id) = leader(&pool, &bootstrap, topic).await;
    let (mut records, mut codecs, mut next) = (Vec::new(), Vec::new(), 0);
    while next < RECORDS {
        let request = |_| fetch(topic, id, next);
        let (answer, _) = pool.ask(&leader, BrokerLane::Polls, request, PATIENCE).await.unwrap();
        assert_eq!((answer.error_code, answer.responses[0].partitions[0].error_code), (0, 0));
        let partition = &answer.responses[0].partitions[0];
        for batch in VisibleBatches::new(partition, Isolation::Committed, BatchDecoder::default()) {
            let batch = batch.unwrap();
            codecs.push(batch.header.compression);
            records.extend(batch.records().map(Result::unwrap).filter(|record| record.offset >= next));
            next = batch.header.next_offset();
        }
    }
    (records, codecs)
}

#[tokio::test]
async fn what_a_broker_compresses_is_read() {
    let Some(kafka) = kafka() else { return };
    for (codec, compression) in [
        ("uncompressed", Compression::Plain),
        ("gzip", Compression::Gzip),
        ("snappy", Compression::Snappy),
        ("lz4", Compression::Lz4),
        ("zstd", Compression::Zstd),
    ] {
        let topic = format!("read-{codec}");
        create(&kafka, &topic, 1, codec).await;
        produce(&kafka, &topic).await;
        let (records, codecs) = read(&kafka, &topic).await;
        assert!(codecs.iter().all(|used| *used == compression), "{codec}: {codecs:?}");
        for (number, record) in (0..).zip(&records) {
            let value = "value ".repeat(number as usize % 50);
            assert_eq!(record.offset, number);
            assert_eq!(record.key.as_deref(), Some(format!("key {number}").as_bytes()), "{codec}");
            assert_eq!(record.value.as_deref().unwrap_or_default(), value.as_bytes(), "{codec}");
            assert_eq!(record.headers[0].value.as_deref(), Some(&b"v"[..]), "{codec}");
        }
        assert_eq!(records.len() as i64, RECORDS, "{codec}");
    }
}
