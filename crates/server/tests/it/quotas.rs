//! The bounds of what callers may have stored.

use kafka_assigner_proto::v1::{RegisterRequest, SetTopicRequest, Topic};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::{AdminService, Quotas};
use tonic::{Request, Status};

use crate::cluster::{Cluster, GROUP};

const FEW: Quotas =
    Quotas { max_groups: 2, max_members: 1, max_registration_bytes: 2_000, max_partitions: 10 };

async fn small() -> Cluster {
    Cluster::tuned(1, 1, |options| options.quotas = FEW).await
}

async fn register(cluster: &Cluster, group: &str, name: &str, topics: &[String]) -> Result<(), Status> {
    use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner as _;
    let request = RegisterRequest {
        group: group.to_owned(),
        consumer_name: name.to_owned(),
        topics: topics.to_vec(),
        ..RegisterRequest::default()
    };
    cluster.nodes[0].api.register(Request::new(request)).await.map(drop)
}

#[track_caller]
fn says<T>(answer: Result<T, Status>, quota: &str) {
    let Err(refusal) = answer else { panic!("it is allowed") };
    assert_eq!(refusal.reason(), Some(Reason::LimitReached), "{refusal}");
    assert!(refusal.message().contains(quota), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn one_consumer_too_many_is_refused_and_those_who_are_there_come_again() {
    let cluster = small().await;
    register(&cluster, GROUP, "a", &[]).await.unwrap();
    says(register(&cluster, GROUP, "b", &[]).await, "max_members");
    register(&cluster, GROUP, "a", &[]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn consumers_create_groups_up_to_the_bound() {
    let cluster = small().await;
    register(&cluster, "first", "a", &[]).await.unwrap();
    register(&cluster, "second", "a", &[]).await.unwrap();
    says(register(&cluster, "third", "a", &[]).await, "max_groups = 2");
    register(&cluster, "second", "a", &[]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_registration_with_too_many_names_is_not_stored() {
    let cluster = small().await;
    let topics: Vec<String> =
        (0..80).map(|number| format!("a-topic-with-quite-a-long-name-{number}")).collect();
    says(register(&cluster, GROUP, "a", &topics).await, "max_registration_bytes = 2000");
    register(&cluster, GROUP, "a", &topics[..10]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_group_has_so_many_partitions_of_all_its_topics() {
    let cluster = small().await;
    register(&cluster, GROUP, "a", &[]).await.unwrap();
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let set = async |topic: &str, partitions: u32| {
        let topic = Topic { topic: topic.to_owned(), partitions, ..Topic::default() };
        admin.set_topic(SetTopicRequest { group: GROUP.to_owned(), topic: Some(topic) }).await
    };
    // The topic of every cluster has one.
    set("one", 5).await.unwrap();
    says(set("other", 5).await, "max_partitions = 10");
    set("other", 4).await.unwrap();
    set("one", 5).await.unwrap();
    says(set("one", 6).await, "would have 11");
}
