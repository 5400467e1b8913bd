//! Instances of the service over one store in memory, each behind a link that can fail.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::record::{Source, Topic, encode};
use kafka_assigner_core::state::{Entry, GroupState, Presence};
use kafka_assigner_proto::v1::{
    self, ExplainRequest, ListAssignmentsRequest, ListConsumersRequest, PartitionAssignment,
};
use kafka_assigner_server::AdminService;
use kafka_assigner_server::grpc::Consumers;
use kafka_assigner_server::topics::TopicSource;
use kafka_assigner_server::{
    Access, ConsumerService, Instance, Options, ServedGroup, ViolationListener, WallClock,
};
use kafka_assigner_store::faulty::FaultyStore;
use kafka_assigner_store::{MemoryStore, Store};
use kafka_assigner_types::kv::{LeaseId, Op, Record, Revision, Txn};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::GroupName;
use prometheus_client::encoding::text::encode as encode_text;
use prometheus_client::registry::Registry;
use tokio::time::{Instant, timeout_at};

/// The longest wait of a test for what must come: more than any deadline of the service, in paused time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// The group of all tests that need one.
pub(crate) const GROUP: &str = "g";

/// One instance.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) instance: Instance,
    pub(crate) link: FaultyStore<MemoryStore>,
    pub(crate) api: Consumers,
    metrics: Arc<Registry>,
}

impl Node {
    /// The instance's metrics, as they are scraped.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        encode_text(&mut text, &self.metrics).expect("metrics are text");
        text
    }

    /// The number of calls of one kind that the instance has made to its store.
    pub(crate) fn calls(&self, call: &str) -> u64 {
        let text = self.metrics();
        let name = format!("store_call_seconds_count{{call=\"{call}\"}} ");
        let line = text.lines().find_map(|line| line.split_once(&name).map(|(_, count)| count));
        line.map_or(0, |count| count.parse().expect("a count"))
    }
}

/// Instances over one store.
pub(crate) struct Cluster {
    pub(crate) memory: MemoryStore,
    pub(crate) nodes: Vec<Node>,
    pub(crate) violations: Violations,
}

/// Decisions of leaders against an invariant. There is none, or the test fails at its end.
#[derive(Default)]
pub(crate) struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    fn listener(&self) -> ViolationListener {
        let heard = Arc::clone(&self.0);
        ViolationListener::new(move |violation| {
            heard.lock().expect("nothing panics with it").push(violation.to_string());
        })
    }
}

impl Drop for Violations {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let heard = self.0.lock().expect("nothing panics with it");
            assert!(heard.is_empty(), "a pass of a leader breaks an invariant: {heard:?}");
        }
    }
}

pub(crate) fn group() -> GroupName {
    GROUP.parse().expect("a name")
}

pub(crate) fn layout() -> Layout {
    Layout::new(DEFAULT_PREFIX, group())
}

/// The view of an operator of the group's one partition, "t/0": the assignment, its one consumer, and the explanation.
pub(crate) async fn shown_of_one(admin: &AdminService) -> (PartitionAssignment, v1::Consumer, String) {
    let list = ListAssignmentsRequest { group: GROUP.to_owned(), ..ListAssignmentsRequest::default() };
    let assignment = admin.list_assignments(list).await.expect("an answer").assignments.remove(0);
    let list = ListConsumersRequest { group: GROUP.to_owned(), ..ListConsumersRequest::default() };
    let consumer = admin.list_consumers(list).await.expect("an answer").consumers.remove(0);
    let explain =
        ExplainRequest { group: GROUP.to_owned(), topic: "t".to_owned(), ..ExplainRequest::default() };
    let reasons = admin.explain(explain).await.expect("an answer").reasons.join(" ");
    (assignment, consumer, reasons)
}

impl Cluster {
    /// A store without any instance.
    pub(crate) fn empty() -> Self {
        Self { memory: MemoryStore::new(), nodes: Vec::new(), violations: Violations::default() }
    }

    /// `instances` with the defaults, and the topic `t` with `partitions`.
    pub(crate) async fn start(instances: usize, partitions: u32) -> Self {
        Self::tuned(instances, partitions, |_| {}).await
    }

    /// As [`start`](Self::start), with other options than the defaults.
    pub(crate) async fn tuned(instances: usize, partitions: u32, tune: impl Fn(&mut Options)) -> Self {
        let mut cluster = Self::empty();
        cluster.topic("t", partitions).await;
        for _ in 0..instances {
            cluster.add(&tune, None).await;
        }
        cluster
    }

    /// Starts one more instance.
    pub(crate) async fn add(&mut self, tune: impl Fn(&mut Options), topics: Option<Arc<dyn TopicSource>>) {
        let n = self.nodes.len();
        let link = FaultyStore::new(self.memory.clone(), n as u64);
        let address = format!("http://127.0.0.1:{}", 7000 + n);
        let mut options = Options::new(format!("i{n}"), address, n as u64);
        options.wall = WallClock::new(|| WallMillis(0));
        options.on_violation = Some(self.violations.listener());
        tune(&mut options);
        let store: Arc<dyn Store> = Arc::new(link.clone());
        let mut metrics = Registry::default();
        let instance = Instance::start(store, options, topics, &mut metrics).await.expect("it starts");
        let api = Consumers::new(ConsumerService::new(instance.clone()), Access::open(&instance));
        self.nodes.push(Node { instance, link, api, metrics: Arc::new(metrics) });
    }

    /// Writes a record of the group, around all instances.
    pub(crate) async fn put(&self, key: &Key, value: impl Into<Bytes>) -> Revision {
        self.apply(vec![Op::put(layout().encode(key), value.into())]).await
    }

    pub(crate) async fn apply(&self, ops: Vec<Op>) -> Revision {
        self.memory.txn(Txn::guarded(Vec::new(), ops)).await.expect("memory answers").revision
    }

    /// Ends a lease, as somebody outside may do.
    pub(crate) async fn revoke(&self, lease: i64) {
        self.memory.revoke(LeaseId(lease)).await.expect("memory answers");
    }

    pub(crate) async fn get(&self, key: &Key) -> Option<Record> {
        self.memory.get(&layout().encode(key)).await.expect("memory answers").0
    }

    /// The revision at which the store stands.
    pub(crate) async fn revision(&self) -> Revision {
        self.memory.get(b"/").await.expect("memory answers").1
    }

    /// The topic `name`, as an operator sets it.
    pub(crate) async fn topic(&self, name: &str, partitions: u32) {
        self.topic_of(GROUP, name, partitions).await;
    }

    /// A topic of another group.
    pub(crate) async fn topic_of(&self, group: &str, name: &str, partitions: u32) {
        let layout = Layout::new(DEFAULT_PREFIX, group.parse().expect("a name"));
        let key = layout.encode(&Key::Topic(name.parse().expect("a name")));
        self.apply(vec![Op::put(key, encode(&Topic::new(partitions, Source::Static)))]).await;
    }

    /// The group as the first instance that is left serves it.
    pub(crate) async fn group(&self) -> ServedGroup {
        self.nodes[0].instance.group(&group()).await.expect("the group is served")
    }

    /// Waits until the first instance's view is as it must become.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&GroupState) -> bool) {
        let group = self.group().await;
        let mut updates = group.view().subscribe();
        let deadline = Instant::now() + PATIENCE;
        while !group.read(&holds) {
            if timeout_at(deadline, updates.next()).await.is_err() {
                panic!("never came: {what}; it stands so:\n{}", group.read(describe));
            }
        }
    }

    /// Waits until every partition is owned by somebody who is here, and nothing moves; returns who has how many.
    pub(crate) async fn settled(&self, members: usize) -> BTreeMap<String, usize> {
        self.until("everybody has something and nothing moves", |state| {
            is_settled(state) && owners(state).len() == members
        })
        .await;
        self.group().await.read(owners)
    }

    /// Stops every instance, as a test does at its end.
    pub(crate) async fn stop(&self) {
        for node in &self.nodes {
            node.instance.stop(Duration::ZERO).await;
        }
    }
}

/// True if every partition is owned by somebody who is here, and nothing moves.
pub(crate) fn is_settled(state: &GroupState) -> bool {
    let wanted: usize =
        state.topics().values().filter_map(Entry::last_good).map(|topic| topic.partitions as usize).sum();
    let held: usize = owners(state).values().sum();
    state.handoffs().is_empty() && held == wanted
}

/// The number of partitions that each consumer that is here owns.
pub(crate) fn owners(state: &GroupState) -> BTreeMap<String, usize> {
    let mut owners = BTreeMap::new();
    for assignment in state.assignments().values().filter_map(Entry::last_good) {
        let Some(owner) = &assignment.owner else { continue };
        if state.presence(&owner.member()) == Presence::Here {
            *owners.entry(owner.name.to_string()).or_default() += 1;
        }
    }
    owners
}

fn describe(state: &GroupState) -> String {
    let mut lines = vec![format!("revision {}", state.revision())];
    lines.extend(state.consumers().iter().map(|(name, entry)| format!("consumer {name}: {entry:?}")));
    lines.extend(state.assignments().iter().map(|(at, entry)| {
        let owner = entry.last_good().and_then(|a| a.owner.as_ref()).map(|o| o.member().to_string());
        format!("{at} of {owner:?} {:?}", entry.error())
    }));
    lines.extend(state.handoffs().iter().map(|(at, entry)| format!("handoff {at}: {:?}", entry.last_good())));
    lines.join("\n")
}

#[test]
#[should_panic(expected = "breaks an invariant")]
fn a_violation_that_was_heard_fails_the_test() {
    let violations = Violations::default();
    violations.0.lock().expect("nobody else has it").push("two owners".to_owned());
}
