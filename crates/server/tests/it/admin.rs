//! Calls of operators: what they show and what they do.

use ::kafka_assigner_server::WallClock;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::record::{self, Source};
use kafka_assigner_proto::v1::watch_event::Event;
use kafka_assigner_proto::v1::*;
use kafka_assigner_proto::{Reason, ReasonExt};
use kafka_assigner_store::Store as _;
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::moment::WallMillis;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::served::{PATIENCE, Served, until};

type Admin = admin_client::AdminClient<Channel>;

fn g() -> String {
    "g".to_owned()
}

fn refused<T: std::fmt::Debug>(answer: Result<T, Status>, reason: Reason, part: &str) {
    let status = answer.expect_err("it is refused");
    assert_eq!(status.reason(), Some(reason), "{status}");
    assert!(status.message().contains(part), "{}", status.message());
}

async fn configure(admin: &mut Admin, config: GroupConfig) -> Result<SetGroupConfigResponse, Status> {
    let request = SetGroupConfigRequest { group: g(), config: Some(config), owners_stopped: false };
    admin.set_group_config(request).await.map(tonic::Response::into_inner)
}

async fn set_topic(admin: &mut Admin, topic: Topic) -> Result<SetTopicResponse, Status> {
    let request = SetTopicRequest { group: g(), topic: Some(topic) };
    admin.set_topic(request).await.map(tonic::Response::into_inner)
}

async fn assignments(admin: &mut Admin) -> Vec<PartitionAssignment> {
    let request = ListAssignmentsRequest { group: g(), ..ListAssignmentsRequest::default() };
    admin.list_assignments(request).await.expect("it answers").into_inner().assignments
}

async fn handoffs(admin: &mut Admin) -> Vec<Handoff> {
    let request = ListHandoffsRequest { group: g(), ..ListHandoffsRequest::default() };
    admin.list_handoffs(request).await.expect("it answers").into_inner().handoffs
}

async fn all_owned(admin: &mut Admin) -> Vec<PartitionAssignment> {
    let owned = |all: &Vec<PartitionAssignment>| !all.is_empty() && all.iter().all(|a| !a.owner.is_empty());
    until("every partition has an owner", async || assignments(&mut admin.clone()).await, owned).await
}

#[tokio::test]
async fn a_group_is_created_changed_and_deleted() {
    let served = Served::start().await;
    let mut admin = served.admin().await;
    let created =
        configure(&mut admin, GroupConfig { debounce_ms: Some(7), ..Default::default() }).await.unwrap();
    assert!(created.created);
    let changed =
        configure(&mut admin, GroupConfig { max_warming: Some(3), ..Default::default() }).await.unwrap();
    let config = changed.config.unwrap();
    assert_eq!((changed.created, config.debounce_ms, config.max_warming), (false, Some(7), Some(3)));
    let wrong = configure(&mut admin, GroupConfig { max_warming: Some(0), ..Default::default() }).await;
    refused(wrong, Reason::InvalidField, "max_warming = 0");
    let listed = admin.list_groups(ListGroupsRequest::default()).await.unwrap().into_inner().groups;
    assert_eq!(listed.iter().map(|group| &*group.group).collect::<Vec<_>>(), ["g"]);
    let described = admin.describe_group(DescribeGroupRequest { group: g() }).await.unwrap().into_inner();
    assert_eq!(described.config.unwrap().max_warming, Some(3));
    let request = DeleteGroupRequest { group: g(), ..DeleteGroupRequest::default() };
    admin.delete_group(request).await.unwrap();
    let gone = async || admin.clone().describe_group(DescribeGroupRequest { group: g() }).await;
    let answer = until("it is gone", gone, Result::is_err).await;
    refused(answer, Reason::GroupNotFound, "does not exist");
    let nameless = admin.delete_group(DeleteGroupRequest::default()).await;
    refused(nameless, Reason::InvalidField, "group is missing");
}

#[tokio::test]
async fn a_group_with_consumers_is_not_deleted() {
    let served = Served::start().await;
    let _here = served.consumer("a").await;
    let mut admin = served.admin().await;
    let request = DeleteGroupRequest { group: g(), ..DeleteGroupRequest::default() };
    let answer = admin.delete_group(request).await;
    refused(answer, Reason::GroupInUse, "1 registered consumers");
}

#[tokio::test]
async fn a_topic_grows_never_shrinks_and_keeps_what_is_not_named() {
    let served = Served::start().await;
    served.topic(4).await;
    let mut admin = served.admin().await;
    let topic = |partitions| Topic { topic: "t".to_owned(), partitions, ..Topic::default() };
    let labelled = Topic { copartition: Some("set".to_owned()), ..topic(4) };
    assert!(!set_topic(&mut admin, labelled).await.unwrap().created);
    let grown = set_topic(&mut admin, topic(6)).await.unwrap().topic.unwrap();
    assert_eq!((grown.partitions, grown.copartition.as_deref()), (6, Some("set")));
    assert_eq!(grown.source(), TopicSource::Operator);
    refused(set_topic(&mut admin, topic(5)).await, Reason::TopicShrinks, "6 partitions");
    refused(set_topic(&mut admin, topic(0)).await, Reason::KafkaNotConfigured, "does not know Kafka");
    refused(set_topic(&mut admin, topic(2_000_000)).await, Reason::InvalidField, "2000000");
    let misnamed = Topic { topic: "a/b".to_owned(), ..topic(1) };
    refused(set_topic(&mut admin, misnamed).await, Reason::InvalidName, "a/b");
    let delete = DeleteTopicRequest { group: g(), topic: "t".to_owned() };
    admin.delete_topic(delete.clone()).await.unwrap();
    refused(admin.delete_topic(delete).await, Reason::TopicNotFound, "no topic t");
}

#[tokio::test]
async fn lists_come_in_pages_and_show_who_owns_what() {
    let served = Served::start().await;
    served.topic(5).await;
    let _here = served.consumer("a").await;
    let mut admin = served.admin().await;
    all_owned(&mut admin).await;
    let mut request = ListAssignmentsRequest { group: g(), page_size: 2, ..Default::default() };
    let mut numbers = Vec::new();
    loop {
        let page = admin.list_assignments(request.clone()).await.unwrap().into_inner();
        assert!(page.assignments.len() <= 2);
        numbers.extend(page.assignments.iter().map(|assignment| assignment.partition));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let of_nobody = ListAssignmentsRequest { group: g(), consumer: "b".to_owned(), ..Default::default() };
    assert!(admin.list_assignments(of_nobody).await.unwrap().into_inner().assignments.is_empty());
    let consumers = ListConsumersRequest { group: g(), ..Default::default() };
    let consumers = admin.list_consumers(consumers).await.unwrap().into_inner().consumers;
    assert_eq!((&*consumers[0].name, consumers[0].owned), ("a", 5));
    assert_eq!((consumers[0].state(), consumers[0].renewal()), (ConsumerState::Active, Renewal::Server));
    let leader =
        admin.get_leader(GetLeaderRequest { group: g() }).await.unwrap().into_inner().leader.unwrap();
    assert_eq!((&*leader.instance, leader.endpoint), ("i0", format!("http://{}", served.grpc)));
}

#[tokio::test]
async fn a_plan_shows_what_if_and_changes_nothing() {
    let served = Served::start().await;
    served.topic(4).await;
    let _here = served.consumer("a").await;
    let mut admin = served.admin().await;
    let before = all_owned(&mut admin).await;
    let plain = PlanRequest { group: g(), ..PlanRequest::default() };
    assert_eq!(admin.plan(plain.clone()).await.unwrap().into_inner().total_moves, 0);
    let without = PlanRequest { without_consumers: vec!["a".to_owned()], ..plain.clone() };
    let plan = admin.plan(without).await.unwrap().into_inner();
    assert_eq!((plan.loads[0].before, &*plan.strategy), (4, "balanced"));
    let unknown = PlanRequest { without_consumers: vec!["z".to_owned()], ..plain.clone() };
    refused(admin.plan(unknown).await, Reason::ConsumerNotFound, "no consumer z");
    let strange = PlanRequest { strategy: "best".to_owned(), ..plain };
    refused(admin.plan(strange).await, Reason::InvalidField, "best");
    assert_eq!(assignments(&mut admin).await, before);
}

#[tokio::test]
async fn a_move_is_shown_explained_and_called_off() {
    let served = Served::start().await;
    served.topic(2).await;
    let _old = served.consumer("a").await;
    let mut admin = served.admin().await;
    all_owned(&mut admin).await;
    let _new = served.consumer("b").await;
    let under_way = async || handoffs(&mut admin.clone()).await;
    let is_timed = |moves: &Vec<Handoff>| moves.first().is_some_and(|first| first.deadline_ms.is_some());
    let moves = until("a move begins, and its leader has seen it", under_way, is_timed).await;
    let moving = &moves[0];
    assert_eq!((&*moving.old_owner, &*moving.new_owner, moving.phase()), ("a", "b", Phase::Warming));
    assert_eq!(moving.waiting_for, "b to warm up");
    let left = moving.deadline_ms.expect("the leader knows how long it may take");
    assert!((200_000..=300_000).contains(&left), "of five minutes: {left}");
    let at = ExplainRequest { group: g(), topic: "t".to_owned(), partition: moving.partition };
    let explained = admin.explain(at).await.unwrap().into_inner();
    assert_eq!(explained.handoff.unwrap().handoff_id, moving.handoff_id);
    assert!(explained.reasons[1].starts_with("It moves from a to b"), "{:?}", explained.reasons);
    let abort = AbortHandoffRequest {
        group: g(),
        topic: "t".to_owned(),
        partition: moving.partition,
        handoff_id: "another".to_owned(),
        reason: "not today".to_owned(),
    };
    refused(admin.abort_handoff(abort.clone()).await, Reason::HandoffNotFound, "another");
    let aborted =
        admin.abort_handoff(AbortHandoffRequest { handoff_id: String::new(), ..abort }).await.unwrap();
    assert_eq!(aborted.into_inner().handoff_id, moving.handoff_id);
    let is_over = |moves: &Vec<Handoff>| moves.iter().all(|other| other.handoff_id != moving.handoff_id);
    until("the move is over", async || handoffs(&mut admin.clone()).await, is_over).await;
    assert!(assignments(&mut admin).await.iter().all(|assignment| assignment.owner == "a"));
}

#[tokio::test]
async fn what_the_group_does_not_have_is_not_explained() {
    let served = Served::start().await;
    served.topic(2).await;
    let mut admin = served.admin().await;
    let at = |topic: &str, partition| ExplainRequest { group: g(), topic: topic.to_owned(), partition };
    refused(admin.explain(at("t", 2)).await, Reason::PartitionNotFound, "it has 2, from 0");
    refused(admin.explain(at("u", 0)).await, Reason::TopicNotFound, "no topic u");
    refused(admin.explain(at("t", -1)).await, Reason::InvalidField, "-1");
    let explained = admin.explain(at("t", 0)).await.unwrap().into_inner();
    assert_eq!(explained.reasons[0], "Nobody owns it.");
}

#[tokio::test]
async fn a_watcher_sees_the_group_then_its_changes_and_the_end() {
    let served = Served::start().await;
    served.topic(1).await;
    let mut admin = served.admin().await;
    let asked = WallClock::system().now();
    let request = Request::new(WatchRequest { group: g() });
    let mut events = admin.watch(request).await.unwrap().into_inner();
    let mut next = async || timeout(PATIENCE, events.message()).await.expect("an event comes");
    let first = next().await.unwrap().unwrap();
    assert!(matches!(first.event, Some(Event::Group(summary)) if summary.partitions == 1));
    let told = WallMillis(u64::try_from(first.at_unix_ms).unwrap());
    assert!((asked..=WallClock::system().now()).contains(&told), "{asked:?} {told:?}");
    let _here = served.consumer("a").await;
    let (mut revision, mut came) = (first.revision, false);
    loop {
        let event = next().await.unwrap().unwrap();
        assert!(event.revision >= revision, "revisions rise");
        revision = event.revision;
        match event.event.unwrap() {
            Event::Consumer(consumer) => came |= consumer.name == "a",
            Event::Assignment(assignment) if assignment.owner == "a" => break,
            _ => {}
        }
    }
    assert!(came, "the consumer is told before what it owns");
    served.stop();
    let end = loop {
        if let Err(end) = next().await {
            break end;
        }
    };
    assert_eq!(end.reason(), Some(Reason::ShuttingDown), "{end}");
}

/// As many new topics as one transaction takes, around the instance.
async fn add_topics(served: &Served, round: u32) {
    let layout = Layout::new(DEFAULT_PREFIX, g().parse().expect("a name"));
    let topic = record::encode(&record::Topic::new(1, Source::Static));
    let put = |n: u32| {
        let name = format!("topic-{round}-{n}").parse().expect("a name");
        Op::put(layout.encode(&Key::Topic(name)), topic.clone())
    };
    let txn = Txn::guarded(Vec::new(), (0..120).map(put).collect());
    served.link.txn(txn).await.expect("memory answers");
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_cut_off() {
    let served = Served::start().await;
    served.topic(1).await;
    let admin = served.admin().await;
    let mut watcher = Admin::new(served.narrow_channel().await);
    let mut events = watcher.watch(WatchRequest { group: g() }).await.unwrap().into_inner();
    assert!(events.message().await.unwrap().is_some(), "the watch has begun");
    for round in 0..110 {
        add_topics(&served, round).await;
        // The instance sees each round by itself.
        let seen = async || {
            let request = DescribeGroupRequest { group: g() };
            admin.clone().describe_group(request).await.unwrap().into_inner().summary.unwrap().topics
        };
        until("the round is seen", seen, |topics| *topics == 1 + 120 * (round + 1)).await;
    }
    let end = loop {
        if let Err(end) = timeout(PATIENCE, events.message()).await.expect("it ends") {
            break end;
        }
    };
    assert_eq!(end.reason(), Some(Reason::ReaderTooSlow), "{end}");
}
