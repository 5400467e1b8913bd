use std::time::Duration;

use kafka_assigner_handler::RecordHeader;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use tokio::time::timeout;

use super::*;
use crate::kafka::client::Client;
use crate::kafka::options::KafkaOptions;

const PATIENCE: Duration = Duration::from_secs(30);

/// More than are taken from librdkafka at once.
const RECORDS: usize = 200;

fn key_of(number: usize) -> Option<Vec<u8>> {
    (!number.is_multiple_of(3)).then(|| number.to_string().into_bytes())
}

fn value_of(number: usize) -> Option<Vec<u8>> {
    (!number.is_multiple_of(5)).then(|| vec![b'v'; number * 20])
}

fn has_headers(number: usize) -> bool {
    number.is_multiple_of(2)
}

/// Writes the records in batches, at the time of their number.
fn produce(brokers: &str) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("linger.ms", "20");
    let producer: BaseProducer = config.create().expect("a producer");
    for number in 0..RECORDS {
        let (key, value) = (key_of(number), value_of(number));
        let mut record = BaseRecord::<[u8], [u8]>::to("t").partition(0).timestamp(1_000 + number as i64);
        (record.key, record.payload) = (key.as_deref(), value.as_deref());
        if has_headers(number) {
            let headers = OwnedHeaders::new().insert(Header { key: "h", value: Some("1") });
            record = record.headers(headers.insert(Header::<&[u8; 0]> { key: "null", value: None }));
        }
        producer.send(record).map_err(|(error, _)| error).expect("there is room");
    }
    producer.flush(PATIENCE).expect("they are written");
}

fn assert_is(record: &Record, number: usize) {
    let (key, value) = (key_of(number), value_of(number));
    assert_eq!((record.key(), record.value()), (key.as_deref(), value.as_deref()));
    assert_eq!((record.offset().get(), record.time().millis()), (number as i64, Some(1_000 + number as i64)));
    let headers: &[_] =
        &[RecordHeader { name: "h", value: Some(b"1") }, RecordHeader { name: "null", value: None }];
    let expected = if has_headers(number) { headers } else { &[] };
    assert_eq!(record.headers().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn records_come_as_they_were_written_and_clones_outlive_their_client() {
    let cluster = MockCluster::new(1).expect("a cluster in this process");
    cluster.create_topic("t", 1, 1).expect("a new topic");
    produce(&cluster.bootstrap_servers());
    let client = Client::new(&KafkaOptions::new(cluster.bootstrap_servers(), "g")).expect("valid options");
    let at = TopicPartition::try_from(("t", 0)).expect("a valid name");
    let mut reader = client.read(&at, Offset::ZERO).await.expect("no broker is asked");
    let mut clones = Vec::new();
    for number in 0..RECORDS {
        timeout(PATIENCE, reader.record()).await.expect("in time").expect("it is there");
        let record = reader.take().expect("it is ahead");
        assert_is(&record, number);
        clones.push(record.clone());
    }
    assert_eq!(timeout(PATIENCE, reader.ahead()).await.expect("in time"), Ok(Ahead::End));
    drop((reader, client));
    clones.iter().enumerate().for_each(|(number, clone)| assert_is(clone, number));
}
