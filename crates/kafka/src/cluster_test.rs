//! Looks at clusters of which parts fail.

use std::time::Duration;

use super::*;
use crate::testing::{FakeBroker, FakeTopic};

fn cluster(brokers: &[&FakeBroker]) -> Cluster {
    let bootstrap = brokers.iter().map(|broker| broker.address.clone()).collect();
    let options = Options { patience: Duration::from_millis(300), ..Options::new(bootstrap) };
    Cluster::new(&options).unwrap()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn look(cluster: &Cluster, asked: &[&str]) -> TopicAnswers {
    cluster.topics(&names(asked)).await.unwrap()
}

fn exists(partitions: u32, id: Option<u8>) -> TopicAnswer {
    TopicAnswer::Exists { partitions, id: id.map(|id| Uuid([id; 16])) }
}

#[tokio::test]
async fn a_topic_has_a_count_and_an_id_or_is_absent_or_unknown() {
    let broker = FakeBroker::start().await.unwrap();
    broker.topic("orders", 6, 9);
    let denied = FakeTopic { error: 29, ..FakeTopic::default() };
    broker.state().topics.insert("secret".to_owned(), denied);
    let cluster = cluster(&[&broker]);
    let answers = look(&cluster, &["missing", "orders", "secret"]).await;
    assert_eq!(answers.topics["orders"], exists(6, Some(9)));
    assert_eq!(answers.topics["missing"], TopicAnswer::Absent);
    assert_eq!(answers.topics["secret"], TopicAnswer::Unknown(29));
    assert!(answers.with_ids && answers.missed.is_none());
}

#[tokio::test]
async fn below_2_8_a_topic_has_no_id() {
    let broker = FakeBroker::start().await.unwrap();
    broker.topic("orders", 6, 9);
    broker.state().newest_metadata = Some(9);
    let answers = look(&cluster(&[&broker]), &["orders"]).await;
    assert_eq!((answers.topics["orders"], answers.with_ids), (exists(6, None), false));
}

#[tokio::test]
async fn a_topic_without_partitions_is_not_certain() {
    let broker = FakeBroker::start().await.unwrap();
    broker.topic("orders", 0, 9);
    assert_eq!(look(&cluster(&[&broker]), &["orders"]).await.topics["orders"], TopicAnswer::Unknown(0));
}

#[tokio::test]
async fn a_silent_broker_is_left_for_another_and_asked_last_from_then_on() {
    let (silent, broker) = (FakeBroker::start().await.unwrap(), FakeBroker::start().await.unwrap());
    silent.state().silent = true;
    broker.topic("orders", 6, 9);
    let cluster = cluster(&[&silent, &broker]);
    assert_eq!(look(&cluster, &["orders"]).await.topics["orders"], exists(6, Some(9)));
    assert_eq!(silent.state().accepted, 1, "the silent one was asked first");
    look(&cluster, &["orders"]).await;
    assert_eq!(silent.state().accepted, 1, "it is not asked again");
}

#[tokio::test]
async fn a_broker_that_falls_silent_is_left_for_one_that_it_named() {
    let (first, learnt) = (FakeBroker::start().await.unwrap(), FakeBroker::start().await.unwrap());
    first.topic("orders", 6, 9);
    learnt.topic("orders", 7, 9);
    first.state().others = vec![learnt.address.clone()];
    let cluster = cluster(&[&first]);
    assert_eq!(look(&cluster, &["orders"]).await.topics["orders"], exists(6, Some(9)));
    first.state().silent = true;
    assert_eq!(look(&cluster, &["orders"]).await.topics["orders"], exists(7, Some(9)));
}

#[tokio::test]
async fn a_connection_that_a_broker_closed_is_made_again() {
    let broker = FakeBroker::start().await.unwrap();
    broker.topic("orders", 6, 9);
    let cluster = cluster(&[&broker]);
    look(&cluster, &["orders"]).await;
    // It answers the versions and closes; so the kept connection ends at the next request.
    broker.state().closes = true;
    look(&cluster, &["orders"]).await;
    broker.state().closes = false;
    look(&cluster, &["orders"]).await;
}

#[tokio::test]
async fn nobody_is_an_error_that_says_why() {
    let broker = FakeBroker::start().await.unwrap();
    broker.state().silent = true;
    let error = cluster(&[&broker]).topics(&names(&["orders"])).await.unwrap_err();
    assert_eq!((error.failures.len(), error.label()), (1, "no_answer"));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("did not answer ApiVersions within 0.3 s"), "{cause}");
}

#[tokio::test]
async fn an_error_of_the_whole_answer_denies_no_topic() {
    let (sick, well) = (FakeBroker::start().await.unwrap(), FakeBroker::start().await.unwrap());
    sick.state().error = 29;
    well.topic("orders", 6, 9);
    assert_eq!(look(&cluster(&[&sick, &well]), &["orders"]).await.topics["orders"], exists(6, Some(9)));
    let error = cluster(&[&sick]).topics(&names(&["orders"])).await.unwrap_err();
    assert_eq!(error.label(), "refused");
}

#[tokio::test]
async fn nonsense_is_an_error_and_another_broker_is_asked() {
    let (liar, honest) = (FakeBroker::start().await.unwrap(), FakeBroker::start().await.unwrap());
    honest.topic("orders", 6, 9);
    for nonsense in [&[0x7f, 0xff, 0xff, 0xff][..], &[0, 0, 0, 4, 0, 0, 0, 9], &[0, 0, 0, 0], &[0xff; 64]] {
        liar.state().nonsense = Some(nonsense.to_vec());
        assert_eq!(look(&cluster(&[&liar, &honest]), &["orders"]).await.topics["orders"], exists(6, Some(9)));
    }
}

#[tokio::test]
async fn many_topics_are_asked_for_in_requests_of_five_hundred() {
    let broker = FakeBroker::start().await.unwrap();
    let many: BTreeSet<String> = (0..1201).map(|number| format!("topic-{number:04}")).collect();
    many.iter().for_each(|name| broker.topic(name, 2, 1));
    let answers = cluster(&[&broker]).topics(&many).await.unwrap();
    assert_eq!(answers.topics.len(), 1201);
    let sizes: Vec<usize> = broker.state().asked.iter().map(Vec::len).collect();
    assert_eq!(sizes, [500, 500, 201]);
}

#[test]
fn half_as_many_are_asked_for_after_an_answer_that_was_too_long() {
    let asked = names(&["a", "b", "c"]);
    let mut look = Look::new(&asked);
    assert!(look.halve());
    assert_eq!(look.open, [vec!["b", "c"], vec!["a"]]);
    assert!(!look.halve(), "one topic alone can't be halved");
    assert!(look.put_off(), "the others are asked for first");
    assert_eq!(look.open, [vec!["a"], vec!["b", "c"]]);
    look.open.truncate(1);
    assert!(!look.put_off());
}

/// An answer about one topic that is longer than the bound keeps nobody from the others.
#[tokio::test]
async fn a_topic_whose_answer_is_too_long_holds_up_no_other() {
    let broker = FakeBroker::start().await.unwrap();
    ["a", "c"].iter().for_each(|name| broker.topic(name, 6, 9));
    broker.state().too_long = Some("b".to_owned());
    let answers = look(&cluster(&[&broker]), &["a", "b", "c"]).await;
    assert_eq!(answers.topics.keys().collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(answers.missed.unwrap().label(), "malformed");
}

#[tokio::test]
async fn a_broker_that_is_too_old_is_not_tried_five_times() {
    let (old, other) = (FakeBroker::start().await.unwrap(), FakeBroker::start().await.unwrap());
    old.state().newest_metadata = Some(5);
    other.state().newest_metadata = Some(5);
    let error = cluster(&[&old, &other]).topics(&names(&["orders"])).await.unwrap_err();
    assert_eq!((error.failures.len(), error.label()), (1, "version"));
}
