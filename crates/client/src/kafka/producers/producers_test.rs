use kafka_assigner_session::{ClaimTerm, Clock};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use super::*;
use crate::claim::SessionClaim;
use kafka_assigner_types::moment::Moment;

fn partition(number: u32) -> TopicPartition {
    TopicPartition::try_from(("t", number)).expect("a valid name")
}

fn producers() -> FencedProducers {
    FencedProducers::new(&KafkaOptions::new("127.0.0.1:1", "g"), &[]).expect("valid options")
}

fn fenced(producers: &FencedProducers, epoch: Epoch) -> Fenced {
    let producer = producers.0.config.create_with_context(producers.0.events.clone());
    let producer = OwnProducer(Some(producer.expect("no broker is asked")));
    Fenced { producer, epoch, taken: Instant::now(), spent: false }
}

// A write may outlast the loss of its partition, which begins again meanwhile.
#[tokio::test]
async fn a_lease_that_was_forgotten_touches_nothing_of_the_one_after_it() {
    for gives_back in [false, true] {
        let (producers, at) = (producers(), partition(0));
        let (old, _) = producers.lease(&at).expect("free");
        producers.forget(&at);
        let (new, before) = producers.lease(&at).expect("forgotten");
        assert!(before.is_none());
        match gives_back {
            true => old.give_back(fenced(&producers, Epoch(1))),
            false => drop(old),
        }
        assert!(matches!(producers.lease(&at), Err(WriteError::Busy(_))), "{gives_back}: two at once");
        new.give_back(fenced(&producers, Epoch(2)));
        let (_lease, before) = producers.lease(&at).expect("given back");
        assert_eq!(before.map(|before| before.epoch), Some(Epoch(2)));
    }
}

#[test]
fn one_partition_more_than_the_bound_gets_no_producer_until_another_is_given_up() {
    let producers = producers();
    let leases: Vec<_> =
        (0..FencedProducers::MOST).map(|number| producers.lease(&partition(number))).collect();
    assert!(leases.iter().all(Result::is_ok));
    let more = partition(FencedProducers::MOST);
    assert!(matches!(producers.lease(&more), Err(WriteError::TooMany(_))));
    assert!(matches!(producers.lease(&partition(0)), Err(WriteError::Busy(_))));
    drop(leases);
    assert!(producers.lease(&more).is_ok());
}

/// A claim under `epoch` that is valid for an hour.
fn claim(epoch: u64) -> Claim {
    let session = SessionClaim::new(Clock::start());
    let until = Moment(Duration::from_secs(3_600));
    session.set(Some(ClaimTerm { overlap: until, strict: until }));
    session.partition(Epoch(epoch), true)
}

// Readers of what is committed would wait for its timeout.
#[tokio::test]
async fn a_write_that_fails_leaves_no_transaction_open() {
    let cluster = MockCluster::new(1).expect("a cluster in this process");
    cluster.create_topic("sink", 1, 1).expect("a new topic");
    let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
    let producers = FencedProducers::new(&options, &[]).expect("valid options");
    let (at, claim) = (partition(0), claim(5));
    let fenced = producers.to_write(&at, None, &claim).await.expect("a fence");
    let records = vec![FutureRecord::to("sink").key(&b"k"[..]).payload(&b"v"[..])];
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_RECORD;
    cluster.request_errors(RDKafkaApiKey::Produce, &[refused; 1]);
    let failed = fenced.write(&at, &claim, records).await;
    assert!(matches!(failed, Err(WriteError::Transaction { .. })), "{failed:?}");
    assert!(fenced.abort().await, "the broker has ended it");
}

#[tokio::test]
async fn an_epoch_that_rises_under_an_owner_takes_no_other_fence() {
    let (producers, at) = (producers(), partition(0));
    let before = fenced(&producers, Epoch(4));
    let kept = producers.to_write(&at, Some(before), &claim(5)).await.expect("no broker is asked");
    assert_eq!(kept.epoch, Epoch(4));
}

// Each takes up to a second; a session that is lost ends all of them.
#[tokio::test]
async fn producers_that_are_given_up_hold_up_nobody() {
    let producers = producers();
    for number in 0..8 {
        let (lease, _) = producers.lease(&partition(number)).expect("free");
        lease.give_back(fenced(&producers, Epoch(1)));
    }
    let begun = std::time::Instant::now();
    (0..8).for_each(|number| producers.forget(&partition(number)));
    // Not even one of them is waited for.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn producers_reach_brokers_as_the_reader_does() {
    let mut options = KafkaOptions::new("b:9092", "g");
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    options.settings = vec![
        set("security.protocol", "sasl_plaintext"),
        set("sasl.username", "alice"),
        set("fetch.min.bytes", "7"),
    ];
    let producers = FencedProducers::new(&options, &[set("sasl.username", "bob")]).expect("valid options");
    let config = &producers.0.config;
    assert_eq!(config.get("security.protocol"), Some("sasl_plaintext"));
    assert_eq!(config.get("sasl.username"), Some("bob"), "what is meant for producers wins");
    assert_eq!(config.get("fetch.min.bytes"), None);
}

/// All of them would share the fences of every other group without a name.
#[test]
fn producers_without_a_group_are_refused() {
    let refused = FencedProducers::new(&KafkaOptions::new("b:9092", ""), &[]);
    assert!(matches!(refused, Err(KafkaRunnerError::Empty { option: "group", .. })), "{refused:?}");
}
