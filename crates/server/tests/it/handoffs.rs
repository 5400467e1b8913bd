//! Handoffs whose parties do not do what they should, and what is said of them.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::busy_member;
use kafka_assigner_core::reason::CancelReason;
use kafka_assigner_core::record::{HandoffRecord, Phase, decode};
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::v1::{
    AckOutcome, BusyPartition, Capability, FenceReason, FencedPartition, HandledRecord, HeartbeatOutcome,
    ListConsumersRequest, PartitionAck, RegisterRequest, WarmProgress,
};
use kafka_assigner_proto::{Reason, ReasonExt as _};
use kafka_assigner_server::{AdminService, Options};
use kafka_assigner_store::Store as _;
use kafka_assigner_store::faulty::{Fault, Outage};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Change;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, is_settled, layout, owners};
use crate::member::{Member, ack, full, outcomes};
use crate::worker::Worker;

fn impatient(options: &mut Options) {
    options.group_defaults.warm_deadline_ms = 8_000;
    options.group_defaults.phase_deadline_ms = 4_000;
}

/// An owner that does everything, and a newcomer that is to warm the one of its two partitions that it can take.
async fn halfway(tune: impl Fn(&mut Options)) -> (Cluster, Worker, Member) {
    let patient = |options: &mut Options| {
        options.group_defaults.max_session_timeout_ms = 1_800_000;
        tune(options);
    };
    let cluster = Cluster::tuned(1, 1, patient).await;
    cluster.topic("u", 1).await;
    let mut old = Worker::start(&cluster.nodes, "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let topics = vec!["u".to_owned()];
    let request = RegisterRequest { topics, session_timeout_ms: 1_800_000, ..full("b", "b-1") };
    let mut new = Member::register(&cluster.nodes[0], request).await.expect("it registers");
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    (cluster, old, new)
}

#[tokio::test(start_paused = true)]
async fn who_never_becomes_ready_is_passed_over_with_the_reason_shown() {
    let (cluster, old, mut new) = halfway(impatient).await;
    let since = Instant::now();
    let prefix = b"/kafka-assigner/g/handoffs/";
    let mut watch = cluster.memory.watch(prefix, cluster.revision().await.next()).await.unwrap();
    let cancelled = watch.next().await.unwrap().unwrap();
    assert!(since.elapsed() >= Duration::from_millis(7_900), "{:?}", since.elapsed());
    let Change::Put(record) = &cancelled.changes[0] else { panic!("{cancelled:?}") };
    let HandoffRecord::Lead(handoff) = decode(&record.value).unwrap() else { panic!("{record:?}") };
    let why = CancelReason::Deadline { phase: Phase::Warming, after_ms: 8_000, missing: Vec::new() };
    assert_eq!((handoff.phase, handoff.cancelled), (Phase::Cancelled, Some(why)));
    new.until("it drops what it prepared", |roles| roles.warming.is_empty()).await;
    assert_eq!(old.roles().assigned.len(), 2);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_failures_make_few_handoffs() {
    let (cluster, _old, mut new) = halfway(|_| {}).await;
    let since = Instant::now();
    let mut attempts = 0;
    while since.elapsed() < Duration::from_secs(600) {
        assert!(new.fail("no disk").await.iter().all(|outcome| *outcome == AckOutcome::Applied));
        attempts += 1;
        new.until("it is over", |roles| roles.warming.is_empty()).await;
        new.until("it is asked again", |roles| !roles.warming.is_empty()).await;
    }
    // 10 s, doubled each time: 10 + 20 + … + 320 s are over ten minutes.
    assert!((4..=8).contains(&attempts), "{attempts}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_gap_whose_edges_are_told_on_two_instances_is_kept() {
    let cluster = Cluster::start(2, 2).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut new = Member::join(&cluster.nodes[1], "b").await;
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    new.ready().await;
    new.until("one to take", |roles| roles.assigned.len() == 1).await;
    let given = new.roles.assigned.values().next().unwrap().clone();
    let edge = |time_unix_ms| {
        let handled = Some(HandledRecord { offset: 7, time_unix_ms });
        PartitionAck { handled, ..ack(&given.topic, given.partition, &given.handoff_id) }
    };
    new.say_taken(vec![edge(1_012)]).await.unwrap();
    old.until("one to release", |roles| roles.releasing.len() == 1).await;
    old.say_released(vec![edge(1_000)]).await.unwrap();
    let at = TopicPartition::new(given.topic.parse().unwrap(), given.partition.try_into().unwrap());
    let is_kept = |state: &GroupState| state.assignment(&at).is_some_and(|a| a.gap_ms == Some(12));
    cluster.until("the gap is known", is_kept).await;
    cluster.until("the handoff is over", |state| state.handoffs().is_empty()).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_one_can_not_warm_another_is_asked_to_at_once() {
    let cluster = Cluster::start(1, 2).await;
    let mut old = Worker::start(&cluster.nodes, "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut unable = Member::join(&cluster.nodes[0], "b").await;
    unable.until("one to warm", |roles| roles.warming.len() == 1).await;
    let mut able = Member::join(&cluster.nodes[0], "c").await;
    // The plan after its joining, which finds no work for it.
    sleep(Duration::from_secs(1)).await;
    let since = Instant::now();
    unable.fail("no disk").await;
    unable.until("it is over", |roles| roles.warming.is_empty()).await;
    tokio::select! {
        biased;
        () = able.until("it is asked instead", |roles| roles.warming.len() == 1) => {}
        // Or for the other partition, which it has not failed at.
        () = unable.until("it is asked again", |roles| roles.warming.len() == 1) => {}
    }
    assert!(since.elapsed() <= Duration::from_secs(1), "{:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn progress_extends_a_warm_up_and_its_lack_ends_it() {
    let (cluster, _old, mut new) = halfway(impatient).await;
    let warm = new.roles.warming.values().next().unwrap().clone();
    let progress = |done| {
        let made_up =
            WarmProgress { topic: "x".repeat(300), handoff_id: "y".repeat(9_999), ..WarmProgress::default() };
        let (topic, partition, handoff_id) = (warm.topic.clone(), warm.partition, warm.handoff_id.clone());
        vec![made_up, WarmProgress { topic, partition, handoff_id, done, ..WarmProgress::default() }]
    };
    for done in 1..20 {
        sleep(Duration::from_secs(3)).await;
        assert_eq!(new.beat(0, progress(done)).await.unwrap().outcome(), HeartbeatOutcome::Confirmed);
    }
    assert!(new.is_quiet() && !new.roles.warming.is_empty(), "a minute later it still warms");
    let record = cluster.get(&Key::Consumer("b".parse().unwrap())).await.unwrap();
    assert!(record.value.len() < 1_000, "nothing made up is kept: {} bytes", record.value.len());
    let since = Instant::now();
    while !new.roles.warming.is_empty() {
        sleep(Duration::from_secs(1)).await;
        new.beat(0, progress(19)).await.unwrap();
        while !new.is_quiet() {}
        assert!(since.elapsed() < Duration::from_secs(12), "what stands still is no progress");
    }
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_warm_up_still_takes_is_kept_with_its_progress() {
    let (cluster, _old, new) = halfway(|_| {}).await;
    let warm = new.roles.warming.values().next().unwrap().clone();
    let (topic, partition, handoff_id) = (warm.topic, warm.partition, warm.handoff_id);
    let told = |done, left_ms| {
        let (topic, handoff_id) = (topic.clone(), handoff_id.clone());
        vec![WarmProgress { topic, partition, handoff_id, done, total: Some(9), left_ms }]
    };
    // The pace is known with the second report.
    new.beat(0, told(1, None)).await.unwrap();
    let done = |state: &GroupState| {
        state.registration(&"b".parse().unwrap())?.progress.values().next().map(|progress| progress.done)
    };
    cluster.until("the first is written", |state| done(state) == Some(1)).await;
    sleep(Duration::from_secs(1)).await;
    new.beat(0, told(2, Some(8_000))).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    new.beat(0, told(3, Some(7_000))).await.unwrap();
    let left = |state: &GroupState| {
        let progress = state.registration(&"b".parse().unwrap())?.progress.values().next()?;
        progress.left_ms
    };
    cluster.until("it is written", |state| left(state) == Some(7_000)).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_never_takes_does_not_keep_it() {
    let (cluster, mut old, mut new) = halfway(impatient).await;
    let before = old.roles().assigned;
    new.ready().await;
    new.until("it is handed over", |roles| roles.assigned.len() == 1).await;
    new.until("it is taken back", |roles| roles.assigned.is_empty()).await;
    cluster.until("it is calm", is_settled).await;
    old.until("it goes on under higher epochs", |roles| {
        roles.assigned.len() == 2 && roles.assigned != before && roles.releasing.is_empty()
    })
    .await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_never_releases_loses_its_session() {
    let cluster = Cluster::tuned(1, 2, impatient).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut new = Worker::start(&cluster.nodes, "b").await;
    old.until("it shall release", |roles| roles.releasing.len() == 1).await;
    assert_eq!(old.ended().await.unwrap().reason(), FenceReason::Ended);
    assert_eq!(old.heartbeat().await.outcome(), HeartbeatOutcome::Fenced);
    new.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.until("the session ran out", |state| state.consumers().len() == 1).await;
    cluster.stop().await;
}

/// A client that can be fenced of one partition.
fn fenceable(name: &str) -> RegisterRequest {
    let mut request = full(name, &format!("{name}-1"));
    request.capabilities.push(Capability::Fence.into());
    request
}

#[tokio::test(start_paused = true)]
async fn who_never_releases_and_knows_fences_keeps_its_session_and_the_rest() {
    let cluster = Cluster::tuned(1, 2, impatient).await;
    let mut old = Member::register(&cluster.nodes[0], fenceable("a")).await.expect("it registers");
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let given = old.roles.assigned.clone();
    let mut new = Worker::start(&cluster.nodes, "b").await;
    old.until("it shall release", |roles| roles.releasing.len() == 1).await;
    assert_eq!(old.heartbeat().await.fenced_partitions, []);
    old.until("it is over", |roles| roles.releasing.is_empty()).await;
    let named = old.heartbeat().await.fenced_partitions;
    let [fenced] = &named[..] else { panic!("one is fenced: {named:?}") };
    let was = given.values().find(|given| given.partition == fenced.partition).expect("it had it");
    assert_eq!((fenced.epoch, old.roles.assigned.len()), (was.epoch, 1));
    let list = || ListConsumersRequest { group: "g".to_owned(), ..ListConsumersRequest::default() };
    let admin = AdminService::new(cluster.nodes[0].instance.clone());
    let shown = admin.list_consumers(list()).await.unwrap().consumers;
    assert_eq!((shown[0].fenced, shown[1].fenced), (1, 0));
    let earlier = FencedPartition { epoch: fenced.epoch - 1, ..fenced.clone() };
    assert_eq!(old.dropped(vec![earlier]).await.fenced_partitions, named, "that is not what is asked");
    let answer = old.dropped(named).await;
    assert_eq!((answer.outcome(), answer.fenced_partitions), (HeartbeatOutcome::Confirmed, vec![]));
    let is_lifted = |state: &GroupState| {
        state.consumers().values().filter_map(Entry::readable).all(|consumer| consumer.fenced.is_empty())
    };
    cluster.until("the word is seen", is_lifted).await;
    new.until("its half", |roles| roles.assigned.len() == 1).await;
    cluster.until("it is calm", is_settled).await;
    let metrics = cluster.nodes[0].metrics();
    assert!(metrics.contains("partitions_fenced_total{group=\"g\"} 1"), "{metrics}");
    cluster.stop().await;
}

/// Of each handoff, whether the member that it waits for is busy with a record.
fn busy(state: &GroupState) -> impl Iterator<Item = bool> {
    state.handoffs().keys().filter_map(|at| Some(busy_member(state, state.handoff(at)?).is_some()))
}

/// Ten times the deadline of a phase, with a heartbeat each second that names what `member` has to release.
async fn stays_busy(member: &mut Member) {
    for _ in 0..40 {
        let busy = member.roles.releasing.values().map(|release| BusyPartition {
            topic: release.topic.clone(),
            partition: release.partition,
            handoff_id: release.handoff_id.clone(),
        });
        assert_eq!(
            member.busy(busy.collect()).await.expect("an answer").outcome(),
            HeartbeatOutcome::Confirmed
        );
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_busy_with_a_record_is_waited_for_and_keeps_its_session() {
    let cluster = Cluster::tuned(1, 2, impatient).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    let mut new = Worker::start(&cluster.nodes, "b").await;
    old.until("it shall release", |roles| roles.releasing.len() == 1).await;
    stays_busy(&mut old).await;
    cluster.until("it is seen that it is busy", |state| busy(state).eq([true])).await;
    assert_eq!(old.roles.assigned.len(), 1, "it keeps the other one");
    old.released().await;
    new.until("its own", |roles| roles.assigned.len() == 1).await;
    cluster.until("it is calm", is_settled).await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_makes_up_of_busy_partitions_comes_into_no_record() {
    let (cluster, _old, new) = halfway(impatient).await;
    let warm = new.roles.warming.values().next().unwrap().clone();
    let made_up = BusyPartition { topic: "x".repeat(300), partition: -1, handoff_id: "y".repeat(9_999) };
    let another = BusyPartition { topic: warm.topic, partition: warm.partition, handoff_id: "z".to_owned() };
    let many = std::iter::repeat_n([made_up, another], 5_000).flatten().collect();
    assert_eq!(new.busy(many).await.unwrap().outcome(), HeartbeatOutcome::Confirmed);
    let record = cluster.get(&Key::Consumer("b".parse().unwrap())).await.unwrap();
    assert!(record.value.len() < 1_000, "{} bytes", record.value.len());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_ack_counts_only_for_its_handoff_and_from_whom_it_concerns() {
    let (cluster, _old, new) = halfway(|_| {}).await;
    let stranger = Member::join(&cluster.nodes[0], "c").await;
    let warm = new.roles.warming.values().next().unwrap().clone();
    let right = ack(&warm.topic, warm.partition, &warm.handoff_id);
    assert_eq!(outcomes(&stranger.say_ready(vec![right.clone()]).await.unwrap()), [AckOutcome::Refused]);
    assert_eq!(outcomes(&new.say_released(vec![right.clone()]).await.unwrap()), [AckOutcome::Refused]);
    assert_eq!(outcomes(&new.say_taken(vec![right.clone()]).await.unwrap()), [AckOutcome::Refused]);
    let other = ack(&warm.topic, warm.partition, "an earlier one");
    let twice = vec![right.clone(), other, right, ack("nowhere", 7, "")];
    let expected = [AckOutcome::Applied, AckOutcome::Over, AckOutcome::Already, AckOutcome::Over];
    assert_eq!(outcomes(&new.say_ready(twice).await.unwrap()), expected);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_one_to_a_thousand_acks() {
    let (cluster, _old, new) = halfway(|_| {}).await;
    for (many, reason) in [(0, Reason::InvalidField), (1_001, Reason::TooManyItems)] {
        let refused = new.say_ready(vec![ack("t", 0, ""); many]).await.unwrap_err();
        assert_eq!(refused.reason(), Some(reason), "{refused:?}");
    }
    assert_eq!(new.say_ready(vec![ack("t", 0, "x"); 1_000]).await.unwrap().len(), 1_000);
    for (topic, partition) in [("a/b", 0), ("", 0), ("t", -1)] {
        let refused = new.say_ready(vec![ack(topic, partition, "")]).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused:?}");
    }
    cluster.stop().await;
}

/// Two hundred partitions that a newcomer warms, and a leader that does nothing about it.
async fn two_hundred() -> (Cluster, Member) {
    let mut cluster = Cluster::tuned(1, 400, |options| options.group_defaults.max_warming = 1_000).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("all", |roles| roles.assigned.len() == 400).await;
    cluster.add(|_| {}, None).await;
    let mut new = Member::join(&cluster.nodes[1], "b").await;
    new.until("half to warm", |roles| roles.warming.len() == 200).await;
    cluster.nodes[0].link.begin_outage(Outage::Silent);
    (cluster, new)
}

#[tokio::test(start_paused = true)]
async fn the_acks_of_one_call_are_recorded_in_few_transactions() {
    let (cluster, new) = two_hundred().await;
    assert_eq!(new.ready().await, vec![AckOutcome::Applied; 200]);
    let snapshot = cluster.memory.range(&layout().prefix()).await.unwrap();
    let handoffs = snapshot.records.iter().filter(|r| r.key.starts_with(b"/kafka-assigner/g/handoffs/"));
    let written: BTreeSet<_> = handoffs.map(|record| record.mod_revision).collect();
    assert!(written.len() <= 2, "{written:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_handoff_keeps_no_other_ack_of_the_call_from_being_recorded() {
    let (cluster, new) = two_hundred().await;
    let (first, _) = new.roles.warming.first_key_value().map(|(at, w)| (at.clone(), w.clone())).unwrap();
    let broken = Key::Handoff(at(u32::try_from(first.1).unwrap()));
    let good = cluster.get(&broken).await.unwrap().value;
    cluster.put(&broken, "{").await;
    let warming = new.roles.warming.values();
    let acks: Vec<_> = warming.map(|w| ack(&w.topic, w.partition, &w.handoff_id)).collect();
    let results = outcomes(&new.say_ready(acks.clone()).await.unwrap());
    assert_eq!(results[0], AckOutcome::Undecided);
    assert_eq!(results[1..], vec![AckOutcome::Applied; 199]);
    cluster.put(&broken, good).await;
    assert_eq!(outcomes(&new.say_ready(acks[..1].to_vec()).await.unwrap()), [AckOutcome::Applied]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_names_no_handoff_and_cannot_be_decided_fails_the_call() {
    let (cluster, new) = two_hundred().await;
    let (first, _) = new.roles.warming.first_key_value().map(|(at, w)| (at.clone(), w.clone())).unwrap();
    cluster.put(&Key::Handoff(at(u32::try_from(first.1).unwrap())), "{").await;
    let acks: Vec<_> = new.roles.warming.values().map(|w| ack(&w.topic, w.partition, "")).collect();
    let refused = new.say_ready(acks.clone()).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::RecordUnreadable), "{refused:?}");
    assert_eq!(outcomes(&new.say_ready(acks[1..].to_vec()).await.unwrap()), vec![AckOutcome::Already; 199]);
    cluster.stop().await;
}

fn at(partition: u32) -> TopicPartition {
    TopicPartition::new("t".parse().expect("a name"), partition)
}

#[tokio::test(start_paused = true)]
async fn an_ack_is_not_judged_by_a_view_that_is_behind() {
    let mut cluster = Cluster::start(1, 2).await;
    let mut old = Worker::start(&cluster.nodes, "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.add(|_| {}, None).await;
    let _served = cluster.nodes[1].instance.group(&crate::cluster::group()).await.unwrap();
    cluster.nodes[1].link.hold_watches();
    let mut new = Member::join(&cluster.nodes[0], "b").await;
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    new.node = cluster.nodes[1].clone();
    let acks: Vec<_> =
        new.roles.warming.values().map(|w| ack(&w.topic, w.partition, &w.handoff_id)).collect();
    let refused = new.say_ready(acks.clone()).await.unwrap_err();
    assert_eq!(refused.reason(), Some(Reason::ViewBehind), "{refused:?}");
    cluster.nodes[1].link.release_watches();
    assert_eq!(outcomes(&new.say_ready(acks).await.unwrap()), [AckOutcome::Applied]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_record_leaves_its_partition_alone_until_it_can_be_read() {
    for broken in ["{", r#"{"version":99}"#] {
        let cluster = Cluster::start(1, 4).await;
        let mut owner = Worker::start(&cluster.nodes, "a").await;
        owner.until("all four", |roles| roles.assigned.len() == 4).await;
        let key = Key::Assignment(at(2));
        let good = cluster.get(&key).await.unwrap().value;
        cluster.put(&key, broken).await;
        cluster.until("it is reported", |state| state.error_at(&at(2)).is_some()).await;
        let _other = Worker::start(&cluster.nodes, "b").await;
        cluster.until("one has moved", |state| owners(state).get("b") == Some(&1)).await;
        assert!(owner.roles().assigned.contains_key(&("t".to_owned(), 2)), "whoever has it goes on");
        let again = cluster.get(&key).await.unwrap();
        assert_eq!(again.value, broken, "nobody touched it");
        cluster.put(&key, good).await;
        cluster.until("it heals", |state| state.error_at(&at(2)).is_none()).await;
        cluster.settled(2).await;
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_registration_is_not_gone() {
    let cluster = Cluster::start(1, 4).await;
    let mut owner = Member::join(&cluster.nodes[0], "a").await;
    owner.until("all four", |roles| roles.assigned.len() == 4).await;
    let key = Key::Consumer("a".parse().unwrap());
    let record = cluster.get(&key).await.unwrap();
    let put = |value: &'static [u8]| {
        kafka_assigner_types::kv::Op::put_leased(record.key.clone(), value, record.lease)
    };
    cluster.apply(vec![put(b"{")]).await;
    let _other = Worker::start(&cluster.nodes, "b").await;
    for _ in 0..6 {
        sleep(Duration::from_secs(10)).await;
        assert_eq!(owner.heartbeat().await.outcome(), HeartbeatOutcome::Confirmed);
    }
    let resumed = owner.resume(&cluster.nodes[0]).await.unwrap();
    assert_eq!(resumed.roles.assigned.len(), 4, "nobody took anything from it");
    assert_eq!(resumed.roles.ttl_ms, 30_000, "and its session is as long as before");
    let held = |state: &GroupState| {
        state
            .assignments()
            .values()
            .filter_map(Entry::last_good)
            .all(|a| a.owner.as_ref().is_some_and(|owner| owner.name.as_str() == "a"))
    };
    assert!(cluster.group().await.read(held));
    assert!(!cluster.group().await.read(|state| state.handoffs().values().any(is_lead)));
    cluster.stop().await;
}

fn is_lead(entry: &Entry<HandoffRecord>) -> bool {
    matches!(entry.last_good(), Some(HandoffRecord::Lead(_)))
}

#[tokio::test(start_paused = true)]
async fn what_the_service_says_for_a_minimal_client_is_said_until_it_is_heard() {
    let mut cluster = Cluster::start(1, 2).await;
    let mut old = Member::join(&cluster.nodes[0], "a").await;
    old.until("both", |roles| roles.assigned.len() == 2).await;
    cluster.add(|_| {}, None).await;
    let minimal = RegisterRequest { capabilities: Vec::new(), renewal: 0, ..full("b", "b-1") };
    let mut new = Member::register(&cluster.nodes[1], minimal).await.unwrap();
    new.until("one to warm", |roles| roles.warming.len() == 1).await;
    new.ready().await;
    // The next calls of that instance are those that say that the client has taken it.
    cluster.nodes[1].link.script([Some(Fault::Refuse); 3]);
    let since = Instant::now();
    new.until("it is handed over", |roles| roles.assigned.len() == 1).await;
    old.until("it shall release", |roles| roles.releasing.len() == 1).await;
    assert_eq!(cluster.nodes[1].link.counts().refused, 3);
    assert!(since.elapsed() <= Duration::from_secs(5), "{:?}", since.elapsed());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn either_party_may_come_back_as_another_session_in_any_phase() {
    for is_old in [true, false] {
        for says in 0..3 {
            let cluster = Cluster::start(1, 2).await;
            let mut old = Member::join(&cluster.nodes[0], "a").await;
            old.until("both", |roles| roles.assigned.len() == 2).await;
            let mut new = Member::join(&cluster.nodes[0], "b").await;
            new.until("one to warm", |roles| roles.warming.len() == 1).await;
            if says > 0 {
                new.ready().await;
                new.until("it is handed over", |roles| roles.assigned.len() == 1).await;
            }
            if says > 1 {
                new.taken().await;
                old.until("it shall release", |roles| roles.releasing.len() == 1).await;
            }
            let (stays, name) = if is_old { (new, "a") } else { (old, "b") };
            let _stays = Worker::of(&cluster.nodes, stays);
            let _back = Worker::with(&cluster.nodes, full(name, "again"), Duration::ZERO).await;
            let shares = cluster.settled(2).await;
            assert!(shares.values().all(|count| *count == 1), "{is_old} {says} {shares:?}");
            cluster.stop().await;
        }
    }
}
