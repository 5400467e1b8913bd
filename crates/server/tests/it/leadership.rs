//! The leadership of groups, and the effect of stopping an instance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_proto::v1::{RegisterRequest, UnassignReason, assignment_command::Command};
use kafka_assigner_server::Options;
use kafka_assigner_server::topics::{self, TopicSource};
use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, group};
use crate::member::{Member, Roles, full};
use crate::worker::Worker;

fn leader(state: &GroupState) -> Option<String> {
    state.leader().and_then(Entry::last_good).map(|leader| leader.instance.clone())
}

#[tokio::test(start_paused = true)]
async fn the_groups_are_led_by_all_instances() {
    let cluster = Cluster::start(2, 1).await;
    sleep(Duration::from_secs(1)).await;
    let mut members = Vec::new();
    for n in 0..20 {
        let request = RegisterRequest { group: format!("group-{n}"), ..full("a", "a-1") };
        members.push(Member::register(&cluster.nodes[n % 2], request).await.unwrap());
    }
    sleep(Duration::from_secs(2)).await;
    let mut led: BTreeMap<String, usize> = BTreeMap::new();
    for group in cluster.nodes[0].instance.groups() {
        *led.entry(group.read(leader).expect("it is led")).or_default() += 1;
    }
    assert_eq!(led.values().sum::<usize>(), 20);
    assert!(led.len() == 2 && led.values().all(|count| *count >= 4), "{led:?}");
    cluster.nodes[0].instance.stop(Duration::ZERO).await;
    let since = Instant::now();
    while cluster.nodes[1].instance.groups().iter().any(|g| g.read(leader).as_deref() != Some("i1")) {
        sleep(Duration::from_millis(50)).await;
        assert!(since.elapsed() < Duration::from_secs(2), "what was given up is taken at once");
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stopping_instance_gives_up_its_leadership_before_its_streams() {
    let mut cluster = Cluster::start(1, 4).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("all four", |roles| roles.assigned.len() == 4).await;
    cluster.add(|_| {}, None).await;
    sleep(Duration::from_secs(1)).await;
    let other = cluster.nodes[1].instance.group(&group()).await.unwrap();
    assert_eq!(other.read(leader).as_deref(), Some("i0"));
    let leaving = cluster.nodes[0].instance.clone();
    let stopping = tokio::spawn(async move { leaving.stop(Duration::from_secs(5)).await });
    member.until("it shall go", |roles| roles.go_away.is_some()).await;
    assert_eq!(member.roles.go_away.as_ref().unwrap().endpoints, ["http://127.0.0.1:7001"]);
    let since = Instant::now();
    while other.read(leader).as_deref() != Some("i1") {
        sleep(Duration::from_millis(10)).await;
        assert!(since.elapsed() < Duration::from_secs(1), "its stream is still there, its leadership is not");
    }
    assert!(member.is_quiet(), "the stream goes on");
    assert!(Member::register(&cluster.nodes[0], full("b", "b-1")).await.is_err(), "there are no new ones");
    let moved = member.resume(&cluster.nodes[1]).await.unwrap();
    assert_eq!(moved.roles.assigned, member.roles.assigned);
    drop(member);
    stopping.await.unwrap();
    assert!(since.elapsed() < Duration::from_secs(3), "it does not wait for longer than it has to");
    cluster.stop().await;
}

/// Topics as a test says.
#[derive(Debug, Default)]
struct Fake(Mutex<Found>);

impl Fake {
    fn say(&self, topic: &str, partitions: Option<u32>) {
        self.show(topic, partitions.map(TopicLook::new));
    }

    fn show(&self, topic: &str, look: Option<TopicLook>) {
        self.0.lock().expect("nothing panics with it").insert(topic.parse().expect("a name"), look);
    }
}

#[async_trait]
impl TopicSource for Fake {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, topics::Error> {
        let known = self.0.lock().expect("nothing panics with it");
        Ok(names.iter().filter_map(|name| Some((name.clone(), *known.get(name)?))).collect())
    }
}

#[tokio::test(start_paused = true)]
async fn topics_come_grow_and_go_with_kafka() {
    let kafka = Arc::new(Fake::default());
    kafka.say("orders", Some(2));
    let mut cluster = Cluster::empty();
    let patient = |options: &mut Options| options.group_defaults.max_session_timeout_ms = 1_800_000;
    cluster.add(patient, Some(Arc::<Fake>::clone(&kafka))).await;
    let request = RegisterRequest {
        topics: vec!["orders".to_owned()],
        session_timeout_ms: 1_800_000,
        ..full("a", "a-1")
    };
    let since = Instant::now();
    let mut member = Member::register(&cluster.nodes[0], request).await.unwrap();
    member.until("what is there", |roles| roles.assigned.len() == 2).await;
    assert!(since.elapsed() < Duration::from_secs(1), "nobody waits for a refresh: {:?}", since.elapsed());
    kafka.say("orders", Some(5));
    member.until("what was added", |roles| roles.assigned.len() == 5).await;
    kafka.say("orders", None);
    let command = member.next().await.unwrap();
    let Some(Command::Assignment(assignment)) = command.command else { panic!("{command:?}") };
    assert_eq!(assignment.unassigned.len(), 5);
    assert!(assignment.unassigned.iter().all(|gone| gone.reason() == UnassignReason::Removed));
    assert!(since.elapsed() > Duration::from_secs(30), "one denial proves nothing");
    cluster.stop().await;
}

// An instance that begins to lead has seen nothing of the topic before, and its next regular look may come at any time.
#[tokio::test(start_paused = true)]
async fn a_new_leader_looks_sooner_at_a_topic_that_was_created_again() {
    for led_after in [1, 6, 9] {
        let kafka = Arc::new(Fake::default());
        let id = |byte| TopicId::new([byte; 16]);
        kafka.show("orders", Some(TopicLook { partitions: 2, id: id(7) }));
        let mut cluster = Cluster::empty();
        let patient = |options: &mut Options| options.group_defaults.max_session_timeout_ms = 1_800_000;
        cluster.add(patient, Some(Arc::<Fake>::clone(&kafka))).await;
        let topics = vec!["orders".to_owned()];
        let request = RegisterRequest { topics, session_timeout_ms: 1_800_000, ..full("a", "a-1") };
        let mut member = Member::register(&cluster.nodes[0], request).await.unwrap();
        member.until("both", |roles| roles.assigned.len() == 2).await;
        cluster.add(patient, Some(Arc::<Fake>::clone(&kafka))).await;
        sleep(Duration::from_secs(led_after)).await;
        kafka.show("orders", Some(TopicLook { partitions: 3, id: id(8) }));
        cluster.nodes[0].instance.stop(Duration::ZERO).await;
        let elected = Instant::now();
        let mut member = member.resume(&cluster.nodes[1]).await.unwrap();
        let another = id(8).unwrap().to_string();
        let is_granted = |roles: &Roles| {
            roles.assigned.len() == 3 && roles.assigned.values().all(|granted| granted.topic_id == another)
        };
        member.until("the new topic", is_granted).await;
        let took = elected.elapsed();
        assert!(took < Duration::from_secs(12), "{took:?} after it had run for {led_after} s");
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn instances_that_start_after_the_consumers_share_everything_without_a_handoff() {
    use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX, Key};
    use kafka_assigner_core::record::{Consumer, GroupConfig, Renewal, encode};
    use kafka_assigner_store::Store as _;
    use kafka_assigner_types::kv::Op;
    use kafka_assigner_types::moment::WallMillis;
    let mut cluster = Cluster::empty();
    cluster.topic("t", 6).await;
    let lease = cluster.memory.grant(Duration::from_secs(60)).await.unwrap();
    for name in ["a", "b"] {
        let incarnation = kafka_assigner_types::id::Incarnation::new(name).unwrap();
        let consumer = Consumer::new(incarnation, 60_000, Renewal::Client, WallMillis(0));
        let key = crate::cluster::layout().encode(&Key::Consumer(name.parse().unwrap()));
        cluster.apply(vec![Op::put_leased(key, encode(&consumer), lease.id)]).await;
    }
    cluster.put(&Key::GroupConfig, encode(&GroupConfig::default())).await;
    let entry = ClusterLayout::new(DEFAULT_PREFIX).group(&group());
    cluster.apply(vec![Op::put(entry, "{}")]).await;
    cluster.add(|_| {}, None).await;
    let shares = cluster.settled(2).await;
    assert!(shares.values().all(|count| *count == 3), "{shares:?}");
    let moved = cluster.group().await.read(|state| {
        state
            .assignments()
            .values()
            .filter_map(Entry::last_good)
            .any(|a| a.why.to_string().contains("handed"))
    });
    assert!(!moved);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_group_ends_its_streams() {
    use kafka_assigner_core::key::{ClusterLayout, DEFAULT_PREFIX};
    use kafka_assigner_types::kv::Op;
    let cluster = Cluster::start(2, 2).await;
    let mut here = Member::join(&cluster.nodes[0], "a").await;
    here.until("both", |roles| roles.assigned.len() == 2).await;
    let mut there = Worker::start(&cluster.nodes[1..], "b").await;
    let entry = ClusterLayout::new(DEFAULT_PREFIX).group(&group());
    let prefix = crate::cluster::layout().prefix();
    cluster.apply(vec![Op::DeletePrefix { prefix }, Op::delete(entry)]).await;
    let _reason = here.ended().await;
    there.until("it is fenced", |roles| roles.fenced.is_some()).await;
    cluster.stop().await;
}

// H66, H69: every call to the store has a bound, so that nothing of an instance hangs with it.
#[tokio::test(start_paused = true)]
async fn an_instance_stops_in_time_although_its_store_never_answers() {
    let cluster = Cluster::start(1, 4).await;
    let mut member = Member::join(&cluster.nodes[0], "a").await;
    member.until("all four", |roles| roles.assigned.len() == 4).await;
    cluster.nodes[0].link.begin_outage(Outage::Silent);
    sleep(Duration::from_secs(1)).await;
    let since = Instant::now();
    cluster.nodes[0].instance.stop(Duration::ZERO).await;
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}
