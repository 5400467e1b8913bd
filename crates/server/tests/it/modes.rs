//! Modes: who may be in them, and how they are switched.

use std::time::Duration;

use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::v1::{
    self, AckOutcome, Capability, DescribeGroupRequest, RegisterRequest, SetGroupConfigRequest,
    SetTopicRequest,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::AdminService;
use kafka_assigner_types::mode::Mode;
use tonic::{Code, Status};

use crate::cluster::{Cluster, GROUP};
use crate::exclusive::exclusive;
use crate::member::{Member, full};
use crate::worker::Worker;

fn minimal(name: &str) -> RegisterRequest {
    RegisterRequest { consumer_name: name.to_owned(), group: GROUP.to_owned(), ..RegisterRequest::default() }
}

fn simple(name: &str) -> RegisterRequest {
    RegisterRequest { capabilities: vec![Capability::Snapshot.into()], ..full(name, &format!("{name}-1")) }
}

async fn set_mode(cluster: &Cluster, mode: &str) -> Result<v1::GroupConfig, Status> {
    let config = Some(v1::GroupConfig { mode: Some(mode.to_owned()), ..v1::GroupConfig::default() });
    let request = SetGroupConfigRequest { group: GROUP.to_owned(), config, owners_stopped: false };
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    Ok(admin.set_group_config(request).await?.config.expect("it is shown"))
}

async fn set_topic_mode(cluster: &Cluster, topic: &str, mode: &str) -> Result<v1::Topic, Status> {
    let (topic, mode) = (topic.to_owned(), Some(mode.to_owned()));
    let topic = Some(v1::Topic { topic, partitions: 2, mode, ..v1::Topic::default() });
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let response = admin.set_topic(SetTopicRequest { group: GROUP.to_owned(), topic }).await?;
    Ok(response.topic.expect("it is shown"))
}

async fn switching(cluster: &Cluster) -> u32 {
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let request = DescribeGroupRequest { group: GROUP.to_owned() };
    admin.describe_group(request).await.expect("an answer").switching
}

#[tokio::test(start_paused = true)]
async fn who_lacks_what_a_mode_needs_is_refused_with_the_reason() {
    let cluster = Cluster::tuned(1, 2, exclusive).await;
    let _able = Member::join(&cluster.nodes[0], "a").await;
    for (request, reason, part) in [
        (minimal("m"), Reason::RenewalNotAllowed, "heartbeats of its own"),
        (simple("s"), Reason::CapabilityMissing, "the capability `taken`"),
    ] {
        let refused = Member::register(&cluster.nodes[0], request).await.err().expect("it is refused");
        assert_eq!((refused.code(), refused.reason()), (Code::FailedPrecondition, Some(reason)));
        assert!(refused.message().contains(part) && refused.message().contains("exclusive"), "{refused:?}");
    }
    set_topic_mode(&cluster, "u", "overlap").await.unwrap();
    let request = RegisterRequest { topics: vec!["u".to_owned()], ..minimal("m") };
    Member::register(&cluster.nodes[0], request).await.expect("its own topic is in overlap");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stricter_mode_is_refused_while_somebody_lacks_what_it_needs() {
    let cluster = Cluster::start(1, 2).await;
    let _able = Member::join(&cluster.nodes[0], "a").await;
    let _minimal = Member::register(&cluster.nodes[0], minimal("m")).await.unwrap();
    for refused in [
        set_mode(&cluster, "exclusive").await.unwrap_err(),
        set_topic_mode(&cluster, "t", "routed").await.unwrap_err(),
    ] {
        assert_eq!(refused.reason(), Some(Reason::CapabilityMissing), "{refused:?}");
        assert!(
            refused.message().contains("m lacks") && !refused.message().contains("a lacks"),
            "{refused:?}"
        );
    }
    let unknown = set_mode(&cluster, "strict").await.unwrap_err();
    assert!(unknown.message().contains("overlap, exclusive, routed"), "{unknown:?}");
    cluster.stop().await;
}

fn demanding(name: &str, least_mode: v1::Mode) -> RegisterRequest {
    let mut request = full(name, &format!("{name}-1"));
    request.set_least_mode(least_mode);
    request
}

#[tokio::test(start_paused = true)]
async fn who_demands_a_stricter_mode_is_refused_and_keeps_its_group_from_a_weaker_one() {
    let cluster = Cluster::start(1, 2).await;
    let _first = Member::join(&cluster.nodes[0], "first").await;
    let refused = Member::register(&cluster.nodes[0], demanding("a", v1::Mode::Exclusive)).await;
    let refused = refused.err().expect("the group is in overlap");
    assert_eq!((refused.code(), refused.reason()), (Code::FailedPrecondition, Some(Reason::ModeTooWeak)));
    assert!(refused.message().contains("--mode exclusive"), "{refused:?}");
    set_mode(&cluster, "exclusive").await.unwrap();
    let _a =
        Member::register(&cluster.nodes[0], demanding("a", v1::Mode::Exclusive)).await.expect("it is strict");
    for weaker in [
        set_mode(&cluster, "overlap").await.unwrap_err(),
        set_topic_mode(&cluster, "t", "overlap").await.unwrap_err(),
    ] {
        assert_eq!(weaker.reason(), Some(Reason::ModeTooWeak), "{weaker:?}");
        assert!(weaker.message().contains("a demands exclusive at least"), "{weaker:?}");
    }
    set_mode(&cluster, "routed").await.expect("stricter than it demands");
    let simple =
        RegisterRequest { least_mode: v1::Mode::Exclusive.into(), group: "g2".to_owned(), ..simple("s") };
    let lacking = Member::register(&cluster.nodes[0], simple).await.err().expect("it can't keep it itself");
    assert_eq!(lacking.reason(), Some(Reason::InvalidField));
    let unknown = RegisterRequest { least_mode: 7, ..demanding("b", v1::Mode::Overlap) };
    let unknown = Member::register(&cluster.nodes[0], unknown).await.err().expect("there is no such mode");
    assert_eq!(unknown.reason(), Some(Reason::InvalidField));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_mode_of_a_topic_counts_for_who_takes_it_also_when_it_comes_again() {
    let cluster = Cluster::tuned(1, 2, exclusive).await;
    let _first = Member::join(&cluster.nodes[0], "first").await;
    set_topic_mode(&cluster, "u", "overlap").await.unwrap();
    let refused = Member::register(&cluster.nodes[0], demanding("a", v1::Mode::Exclusive)).await;
    let refused = refused.err().expect("one of its topics is in overlap");
    assert!(refused.message().contains("kafka-assigner topic set g u --mode exclusive"), "{refused:?}");
    let of_t = RegisterRequest { topics: vec!["t".to_owned()], ..demanding("a", v1::Mode::Exclusive) };
    let _a = Member::register(&cluster.nodes[0], of_t).await.expect("its topic is strict");
    set_topic_mode(&cluster, "u", "routed").await.expect("it is no topic of its own");
    let of_new = RegisterRequest { topics: vec!["new".to_owned()], ..demanding("b", v1::Mode::Exclusive) };
    let _b = Member::register(&cluster.nodes[0], of_new).await.expect("it will have the mode of the group");
    let weaker = set_topic_mode(&cluster, "new", "overlap").await.unwrap_err();
    assert_eq!(weaker.reason(), Some(Reason::ModeTooWeak), "{weaker:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_that_its_first_consumer_creates_is_as_strict_as_that_one_demands() {
    let cluster = Cluster::start(1, 2).await;
    let request = RegisterRequest { group: "new".to_owned(), ..demanding("a", v1::Mode::Exclusive) };
    let _a = Member::register(&cluster.nodes[0], request).await.expect("the group is created");
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let request = DescribeGroupRequest { group: "new".to_owned() };
    let config = admin.describe_group(request).await.expect("an answer").config.expect("it is told");
    assert_eq!(config.mode.as_deref(), Some("exclusive"));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_switch_is_shown_until_every_owner_has_confirmed_it() {
    let cluster = Cluster::start(1, 4).await;
    let mut owner = Member::join(&cluster.nodes[0], "a").await;
    owner.until("all", |roles| roles.assigned.len() == 4).await;
    let before: Vec<u64> = owner.roles.assigned.values().map(|a| a.epoch).collect();
    assert_eq!(set_mode(&cluster, "exclusive").await.unwrap().mode.as_deref(), Some("exclusive"));
    let is_new = |a: &v1::AssignedPartition| a.mode() == v1::Mode::Exclusive && !a.handoff_id.is_empty();
    owner.until("the new mode", |roles| roles.assigned.values().all(is_new)).await;
    assert_eq!(switching(&cluster).await, 4);
    assert!(owner.roles.assigned.values().zip(before).all(|(a, before)| a.epoch > before && a.run == before));
    assert_eq!(owner.taken().await, [AckOutcome::Applied; 4]);
    let confirmed = |state: &GroupState| {
        state.assignments().values().filter_map(Entry::last_good).all(|a| a.switching.is_none())
    };
    cluster.until("all are confirmed", confirmed).await;
    assert_eq!(switching(&cluster).await, 0);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_may_be_stricter_than_its_group_and_go_back() {
    let cluster = Cluster::start(1, 2).await;
    cluster.topic("u", 2).await;
    let _workers = Worker::several(&cluster.nodes, ["a", "b"].map(str::to_owned)).await;
    cluster.settled(2).await;
    for (wanted, mode) in [("exclusive", Mode::Exclusive), ("", Mode::Overlap)] {
        let shown = set_topic_mode(&cluster, "u", wanted).await.unwrap();
        assert_eq!(shown.mode.unwrap_or_default(), wanted);
        cluster
            .until("only that topic's partitions are in its mode, and confirmed", |state| {
                state.assignments().iter().all(|(at, entry)| {
                    let wanted = if at.topic.as_str() == "u" { mode } else { Mode::Overlap };
                    Entry::last_good(entry).is_some_and(|a| a.mode == wanted && a.switching.is_none())
                })
            })
            .await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(switching(&cluster).await, 0);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stricter_mode_begins_once_the_session_before_can_not_act_any_more() {
    // The claim lasts for 20 s, or for its grace; a client that does not tell it may have 10 min.
    for (grace_ms, waits) in [(Some(0), 20), (Some(60_000), 60), (None, 600)] {
        switched_after(grace_ms, Duration::from_secs(waits)).await;
    }
}

/// Switches a group whose owner was superseded, and waits for that.
async fn switched_after(outage_grace_ms: Option<u64>, waits: Duration) {
    let cluster = Cluster::start(1, 2).await;
    let request = RegisterRequest { outage_grace_ms, ..full("a", "a-1") };
    let mut first = Member::register(&cluster.nodes[0], request).await.expect("it registers");
    first.until("both", |roles| roles.assigned.len() == 2).await;
    let mut owner = Worker::with(&cluster.nodes, full("a", "a-2"), Duration::ZERO).await;
    owner.until("both", |roles| roles.assigned.len() == 2).await;
    let since = tokio::time::Instant::now();
    set_mode(&cluster, "exclusive").await.expect("the mode is switched");
    let is_new = |a: &v1::AssignedPartition| a.mode() == v1::Mode::Exclusive;
    owner.until("the new mode", |roles| roles.assigned.values().all(is_new)).await;
    let took = since.elapsed();
    let slack = Duration::from_millis(500);
    assert!(took + slack >= waits && took <= waits + slack, "{took:?}");
    cluster.until("it is confirmed", |state| state.handoffs().is_empty()).await;
    cluster.stop().await;
}
