//! A member made of machines, in a group of a real broker with librdkafka's client.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kafka_assigner_group_member::{
    AnswerFailure, ClassicCommand, ClassicEvent, ClassicMember, ClassicOptions, ClassicRequest, GroupPlan,
    JoinedMember, Membership, OfferedStrategy, PlanRule, RequestNumber, TopicFacts,
};
use kafka_assigner_kafka::messages::{
    FindCoordinatorRequest, MetadataRequest, OffsetCommitRequest, OffsetCommitRequestPartition,
    OffsetCommitRequestTopic, OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool};
use kafka_assigner_rig::kafka;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use super::records::{create, pool};

const PATIENCE: Duration = Duration::from_secs(30);

/// A member, and what it needs to do what it says.
struct Shell {
    member: ClassicMember,
    group: String,
    pool: BrokerPool,
    bootstrap: BrokerAddress,
    coordinator: Option<BrokerAddress>,
    since: Instant,
    events: VecDeque<ClassicEvent>,
    shown: Arc<Shown>,
}

/// The member as a test sees it.
#[derive(Default)]
struct Shown {
    owned: Mutex<BTreeSet<TopicPartition>>,
    membership: Mutex<Option<Membership>>,
    is_closing: AtomicBool,
}

impl Shell {
    fn new(kafka: &str, group: &str, topic: &str) -> Self {
        let mut options = ClassicOptions::new(
            group.to_owned(),
            vec![OfferedStrategy::of_name("cooperative-sticky").unwrap()],
        );
        options.heartbeat_interval = Duration::from_millis(500);
        let topics = [TopicName::new(topic).unwrap()].into();
        Self {
            member: ClassicMember::new(options, topics, Moment::default()),
            group: group.to_owned(),
            pool: pool(),
            bootstrap: kafka.parse().unwrap(),
            coordinator: None,
            since: Instant::now(),
            events: VecDeque::from([ClassicEvent::Tick]),
            shown: Arc::default(),
        }
    }

    async fn run(mut self) {
        self.find_coordinator().await;
        while !self.member.is_over() {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.next_event().await,
            };
            let commands = self.member.step(Moment(self.since.elapsed()), event);
            for command in commands {
                self.carry_out(command).await;
            }
            *self.shown.owned.lock().unwrap() = self.member.owned().cloned().unwrap_or_default();
            *self.shown.membership.lock().unwrap() = self.member.commits_as().cloned();
        }
    }

    async fn next_event(&mut self) -> ClassicEvent {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if self.shown.is_closing.swap(false, Ordering::Relaxed) {
            return ClassicEvent::Close(PATIENCE);
        }
        ClassicEvent::Polled
    }

    async fn carry_out(&mut self, command: ClassicCommand) {
        match command {
            ClassicCommand::Send { number, request, patience } => {
                let answer = self.send(number, request, patience).await;
                self.events.push_back(answer);
            }
            ClassicCommand::LoseCoordinator => self.find_coordinator().await,
            ClassicCommand::Plan { generation, strategy, members, is_sent } => {
                let plan = self.plan(&strategy, members).await;
                self.events.extend(is_sent.then_some(ClassicEvent::Planned { generation, plan: Some(plan) }));
            }
            ClassicCommand::Flush => self.events.push_back(ClassicEvent::Flushed),
            ClassicCommand::Call(_) => self.events.push_back(ClassicEvent::CallbackDone),
            ClassicCommand::StopReading(_) | ClassicCommand::StartReading(_) | ClassicCommand::Tell(_) => {}
        }
    }

    async fn find_coordinator(&mut self) {
        let find = |version| FindCoordinatorRequest::of_group(&self.group, version);
        let (answer, _) = self.pool.ask(&self.bootstrap, BrokerLane::Requests, find, PATIENCE).await.unwrap();
        match answer.of_group(&self.group) {
            Ok((_, address)) => self.coordinator = Some(address),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        self.events.push_back(ClassicEvent::Coordinator);
    }

    async fn send(&self, number: RequestNumber, request: ClassicRequest, patience: Duration) -> ClassicEvent {
        let broker = self.coordinator.as_ref().unwrap_or(&self.bootstrap);
        macro_rules! ask {
            ($request:expr) => {
                self.pool
                    .ask(broker, BrokerLane::Group, |_| $request, patience)
                    .await
                    .map(|(answer, _)| answer)
            };
        }
        let failed = |_| AnswerFailure;
        match request {
            ClassicRequest::Join(join) => ClassicEvent::Joined(number, ask!(join).map_err(failed)),
            ClassicRequest::Sync(sync) => ClassicEvent::Synced(number, ask!(sync).map_err(failed)),
            ClassicRequest::Beat(beat) => ClassicEvent::Beaten(number, ask!(beat).map_err(failed)),
            ClassicRequest::Leave(leave) => ClassicEvent::Left(number, ask!(leave).map(drop).map_err(failed)),
        }
    }

    async fn plan(&self, strategy: &str, members: Vec<JoinedMember>) -> Vec<(String, Vec<u8>)> {
        let mut plan = GroupPlan::new(PlanRule::of_name(strategy).unwrap(), members);
        let topics = plan.topics();
        let ask = |_| MetadataRequest::of_names(topics.iter().map(String::as_str));
        let (answer, _) = self.pool.ask(&self.bootstrap, BrokerLane::Requests, ask, PATIENCE).await.unwrap();
        let facts = |partitions: usize| TopicFacts { partitions: partitions as u32, racks: Vec::new() };
        let known =
            answer.topics.into_iter().map(|topic| (topic.name.unwrap(), facts(topic.partitions.len())));
        plan.make(known.collect::<BTreeMap<_, _>>()).unwrap()
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

/// A member of librdkafka, which is asked for records on a thread of its own until it is dropped.
struct Other(Arc<BaseConsumer>, Option<JoinHandle<()>>, Arc<AtomicBool>);

impl Other {
    fn new(kafka: &str, group: &str, topic: &str) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", kafka)
            .set("group.id", group)
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("heartbeat.interval.ms", "500")
            .create()
            .unwrap();
        consumer.subscribe(&[topic]).unwrap();
        let (consumer, is_over) = (Arc::new(consumer), Arc::new(AtomicBool::new(false)));
        let polled = (Arc::clone(&consumer), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !polled.1.load(Ordering::Relaxed) {
                let _records = polled.0.poll(Duration::from_millis(50));
            }
        });
        Self(consumer, Some(thread), is_over)
    }

    fn owned(&self) -> usize {
        self.0.assignment().map_or(0, |assigned| assigned.count())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.2.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_made_of_machines_shares_a_group_with_another_client() {
    let Some(kafka) = kafka() else { return };
    let (topic, group) = ("machines", "machines");
    create(&kafka, topic, 4, "uncompressed").await;
    let shell = Shell::new(&kafka, group, topic);
    let shown = Arc::clone(&shell.shown);
    let owned = || shown.owned.lock().unwrap().len();
    let running = tokio::spawn(shell.run());
    until("it owns all", || owned() == 4).await;
    let other = Other::new(&kafka, group, topic);
    until("both own half", || owned() == 2 && other.owned() == 2).await;
    drop(other);
    until("it owns all again", || owned() == 4).await;
    let membership = shown.membership.lock().unwrap().clone().unwrap();
    commits(&kafka, group, topic, &membership).await;
    shown.is_closing.store(true, Ordering::Relaxed);
    tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap();
    // It has left, so the next one waits for nobody's session.
    let next = Shell::new(&kafka, group, topic);
    let (shown, since) = (Arc::clone(&next.shown), Instant::now());
    let running = tokio::spawn(next.run());
    until("the next one owns all", || shown.owned.lock().unwrap().len() == 4).await;
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    running.abort();
}

/// A commit with the member's generation is taken, and read back.
async fn commits(kafka: &str, group: &str, topic: &str, membership: &Membership) {
    let (pool, broker): (_, BrokerAddress) = (pool(), kafka.parse().unwrap());
    let ask = |_| MetadataRequest::of_names([topic]);
    let (metadata, _) = pool.ask(&broker, BrokerLane::Requests, ask, PATIENCE).await.unwrap();
    let id: Uuid = metadata.topics[0].topic_id;
    let partition = OffsetCommitRequestPartition { committed_offset: 7, ..Default::default() };
    let of_topic =
        OffsetCommitRequestTopic { name: topic.to_owned(), topic_id: id, partitions: vec![partition] };
    let commit = OffsetCommitRequest {
        group_id: group.to_owned(),
        generation_id_or_member_epoch: membership.generation,
        member_id: membership.member_id.clone(),
        topics: vec![of_topic],
        ..OffsetCommitRequest::default()
    };
    let (answer, _) = pool.ask(&broker, BrokerLane::Group, |_| commit, PATIENCE).await.unwrap();
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    let asked =
        OffsetFetchRequestTopics { name: topic.to_owned(), topic_id: id, partition_indexes: vec![0, 1] };
    let asked = OffsetFetchRequestGroup {
        group_id: group.to_owned(),
        topics: Some(vec![asked]),
        ..Default::default()
    };
    let ask = |version| OffsetFetchRequest::of_group(asked, version);
    let (answer, _) = pool.ask(&broker, BrokerLane::Group, ask, PATIENCE).await.unwrap();
    let group = answer.into_group();
    let offsets: Vec<_> =
        group.topics[0].partitions.iter().map(|partition| partition.committed_offset).collect();
    assert_eq!((group.error_code, offsets), (0, vec![7, -1]));
}
