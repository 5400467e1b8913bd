//! A group on a store in a map, for tests: decisions are carried out at once and in order, time passes only
//! when it is told to, and every change is held against the rule that epochs rise (I2).
//!
//! It is here, behind the feature `testing`, because the tests of this crate and of the server are made of it, and nothing
//! that ships may depend on a crate of `verification/`. It is not part of the public interface.

mod map_store;
mod members;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_strategies::Registry;

use crate::ack::{Ack, Drained};
use crate::action::Action;
use crate::advance::advance;
use crate::claim::{self, Leases, Remaining};
use crate::key::{DEFAULT_PREFIX, Key, Layout};
use crate::leader::{Leader, LeaderContext, Pass, PassOutcome, StepInputs};
use crate::lint::lint;
use crate::plan::{Plan, WhatIf};
use crate::record::{ClusterRecord, GroupConfig, LeaderRecord, Phase, Source, Topic, decode, encode};
use crate::state::{GroupState, Touched};
use crate::write::{Fence, chunk};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::{Change, Compare, LeaseId, Limits, Must, Op, Revision, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::{Moment, WallMillis};

pub use map_store::MapStore;

/// One group with its only leader and its members.
#[derive(Debug, Clone)]
pub struct TestGroup {
    /// The store.
    pub store: MapStore,
    /// The view of it, always up to date.
    pub state: GroupState,
    /// The records touched since this was last taken.
    pub touched: Touched,
    /// The leader.
    pub leader: Leader,
    /// The store's last answers about the leases that are in doubt.
    pub leases: Leases,
    /// The leader's clock.
    pub moment: Moment,
    running: BTreeMap<LeaseId, Moment>,
    fence: Fence,
    dealt: u64,
    epochs: BTreeMap<TopicPartition, (Epoch, Epoch, Option<Member>)>,
}

/// The beginning of the leader's clock.
const START: Moment = Moment(Duration::from_secs(1));

impl Default for TestGroup {
    fn default() -> Self {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().expect("a valid name"));
        let key = layout.encode(&Key::Leader);
        let mut group = Self {
            store: MapStore::default(),
            state: GroupState::new(layout),
            touched: Touched::default(),
            leader: Leader::new(START),
            leases: Leases::default(),
            moment: START,
            running: BTreeMap::new(),
            fence: Fence::new(Compare::new(key, Must::HaveCreateRevision(Revision(1)))),
            dealt: 0,
            epochs: BTreeMap::new(),
        };
        group.put(
            &Key::Leader,
            encode(&LeaderRecord::new("i".to_owned(), "http://i".to_owned(), WallMillis(0))),
        );
        group
    }
}

/// Writes and changes by hand.
impl TestGroup {
    /// A group with these topics of so many partitions.
    #[must_use]
    pub fn with_topics(topics: &[(&str, u32)]) -> Self {
        let mut group = Self::default();
        topics.iter().for_each(|(name, partitions)| group.topic(name, *partitions));
        group
    }

    /// Writes a record as somebody at a shell would.
    pub fn put(&mut self, key: &Key, value: impl Into<Bytes>) {
        let op = Op::put(self.state.layout().encode(key), value);
        self.apply(&Txn::guarded(Vec::new(), vec![op]));
    }

    /// Removes a record as somebody at a shell would.
    pub fn remove(&mut self, key: &Key) {
        let op = Op::delete(self.state.layout().encode(key));
        self.apply(&Txn::guarded(Vec::new(), vec![op]));
    }

    /// Sets how many partitions a topic has.
    ///
    /// # Panics
    /// Where `name` is no name.
    pub fn topic(&mut self, name: &str, partitions: u32) {
        self.put(
            &Key::Topic(name.parse().expect("a valid name")),
            encode(&Topic::new(partitions, Source::Static)),
        );
    }

    /// Sets a topic that moves with others of the same label.
    ///
    /// # Panics
    /// Where `name` is no name.
    pub fn topic_in_set(&mut self, name: &str, partitions: u32, label: &str) {
        let topic = Topic { copartition: Some(label.to_owned()), ..Topic::new(partitions, Source::Static) };
        self.put(&Key::Topic(name.parse().expect("a valid name")), encode(&topic));
    }

    /// Sets the group's configuration.
    pub fn configure(&mut self, config: &GroupConfig) {
        self.put(&Key::GroupConfig, encode(config));
    }

    /// Carries out a transaction of anybody; whether its guards held.
    pub fn apply(&mut self, txn: &Txn) -> bool {
        let Some(changes) = self.store.txn(txn) else { return false };
        self.take_in(&changes);
        true
    }

    fn take_in(&mut self, changes: &[Change]) {
        let touched = self.state.apply(changes, self.store.revision());
        self.leader.observe(&self.state, &touched, self.moment);
        for at in touched.units.clone() {
            self.check_epochs(&at);
        }
        self.touched.merge(touched);
        self.ask_leases();
    }

    /// I2: another owner or incarnation has a higher epoch, and none is ever lower.
    fn check_epochs(&mut self, lead: &TopicPartition) {
        let unit =
            self.state.handoff(lead).map_or_else(|| vec![lead.clone()], |handoff| handoff.unit.clone());
        for at in unit {
            let Some(assignment) = self.state.assignment(&at) else { continue };
            let owner = assignment.owner.as_ref().map(crate::record::Owner::member);
            let held = assignment.held_epoch();
            if let Some((epoch, before_held, before)) = self.epochs.get(&at) {
                let rises = assignment.highest_epoch() >= *epoch && held >= *before_held;
                assert!(
                    rises && (held > *before_held || owner == *before),
                    "{at}: {before_held} of {before:?}, then {held} of {owner:?}"
                );
            }
            self.epochs.insert(at, (assignment.highest_epoch(), held, owner));
        }
    }

    /// Lets time pass.
    pub fn later(&mut self, duration: Duration) {
        self.moment = self.moment + duration;
        self.ask_leases();
    }

    /// For how long nobody has kept `lease` alive; `None`: it is gone.
    #[must_use]
    pub fn age_of(&self, lease: LeaseId) -> Option<Duration> {
        self.running.get(&lease).map(|since| self.moment.since(*since))
    }

    /// Every session that is registered, and neither being ended nor suspected, keeps its lease alive at every moment.
    fn keep_alive(&mut self) {
        let registered = self.state.consumers().values().filter_map(|entry| entry.readable());
        let kept = registered.filter(|consumer| !consumer.is_ending() && consumer.suspected.is_none());
        let kept = kept.map(|consumer| consumer.lease);
        let moment = self.moment;
        self.running.extend(kept.map(|lease| (lease, moment)).collect::<Vec<_>>());
    }

    /// The store's answers about the leases in doubt are known at every moment.
    fn ask_leases(&mut self) {
        self.keep_alive();
        let wanted = claim::doubtful(&self.state, self.state.assignments().keys());
        self.leases = self.answer(&wanted);
        self.leader.hear(&self.leases, self.moment);
    }

    /// The store's answers about `asked`.
    fn answer(&self, asked: &BTreeMap<LeaseId, Duration>) -> Leases {
        let left = |lease: &LeaseId, ttl: Duration| match self.age_of(*lease) {
            Some(age) if age < ttl => Remaining::Left(ttl.saturating_sub(age)),
            _ => Remaining::Gone,
        };
        asked.iter().map(|(lease, ttl)| (*lease, left(lease, *ttl))).collect()
    }
}

/// The work of the leader.
impl TestGroup {
    /// The leader's knowledge.
    #[must_use]
    pub const fn context(&self) -> LeaderContext<'_> {
        LeaderContext {
            memory: self.leader.memory(),
            moment: self.moment,
            leases: &self.leases,
            wall: WallMillis(0),
            strategies: Registry::builtin(),
        }
    }

    /// The input of the leader's step at this moment.
    #[must_use]
    pub const fn inputs(&self) -> StepInputs<'static> {
        StepInputs {
            moment: self.moment,
            wall: WallMillis(0),
            nonce: self.dealt,
            strategies: Registry::builtin(),
        }
    }

    /// The store is in the history `cluster` from now on, and somebody begins to lead in it.
    pub fn put_back(&mut self, cluster: &ClusterRecord) {
        self.state = self.state.clone().in_cluster(Arc::new(cluster.clone()));
        self.change_leader();
    }

    /// Another instance leads from now on: what it sees, it sees for the first time.
    pub fn change_leader(&mut self) {
        self.leader = Leader::having_seen(&self.state, self.moment);
    }

    /// The plan that would be made; changes nothing.
    ///
    /// # Panics
    /// Where there is no plan.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.leader
            .preview(&self.state, &self.leases, self.inputs(), &WhatIf::default())
            .expect("it can be planned")
    }

    /// The next steps of the handoffs that exist.
    #[must_use]
    pub fn steps(&self) -> Vec<Action> {
        self.state.handoffs().keys().filter_map(|lead| advance(&self.state, lead, self.context())).collect()
    }

    /// One pass of the leader that looks at everything, carried out; returns what applied.
    ///
    /// # Panics
    /// Where there is no plan, or the pass breaks an invariant of the [`lint`](mod@crate::lint).
    pub fn pass(&mut self) -> Vec<Action> {
        self.leader.observe_everything(self.moment);
        let (applied, pass) = self.step();
        assert!(matches!(pass.plan, Some(Ok(_))), "it can be planned: {:?}", pass.plan);
        applied
    }

    /// Lets the leader work for as long as `span`, as it wakes by itself; returns what applied, and when.
    ///
    /// # Panics
    /// Where a step breaks an invariant of the [`lint`](mod@crate::lint).
    pub fn follow(&mut self, span: Duration) -> Vec<(Moment, Action)> {
        let (end, mut done) = (self.moment + span, Vec::new());
        loop {
            let (applied, pass) = self.step();
            let rests = applied.is_empty();
            let moment = self.moment;
            done.extend(applied.into_iter().map(|action| (moment, action)));
            let wake = self.leader.written(&pass, PassOutcome::Applied, self.moment);
            if rests && wake >= end {
                self.later(end.since(self.moment));
                return done;
            }
            if rests {
                self.later(wake.since(self.moment).max(Duration::from_millis(1)));
            }
        }
    }

    /// A step of the leader, carried out.
    fn step(&mut self) -> (Vec<Action>, Pass) {
        self.dealt += 1;
        let mut pass = self.leader.step(&self.state, None, self.inputs());
        if !pass.ask.is_empty() {
            let said = self.answer(&pass.ask);
            pass = self.leader.step(&self.state, Some(&said), self.inputs());
        }
        let violations = lint(&self.state, &pass, self.context());
        assert!(violations.is_empty(), "{}", violations[0]);
        let actions: Vec<Action> = pass.actions().cloned().collect();
        let wanted = actions.len();
        let applied = self.carry_out(actions);
        applied.iter().for_each(|action| self.leader.note_applied(action, self.moment));
        let is_whole = applied.len() == wanted;
        let outcome = if is_whole { PassOutcome::Applied } else { PassOutcome::Outdated };
        self.leader.written(&pass, outcome, self.moment);
        (applied, pass)
    }

    /// Carries out decisions as a leader does: in chunks, and one by one where a chunk does not apply.
    pub fn carry_out(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let writes: Vec<_> = actions.iter().map(|action| action.write.clone()).collect();
        let mut applied = vec![false; actions.len()];
        for chunk in chunk(&self.fence, &writes, Limits::ETCD) {
            if self.apply(&chunk.txn) {
                applied[chunk.writes].fill(true);
                continue;
            }
            for at in chunk.writes {
                applied[at] = self.apply(&self.fence.alone(&writes[at]));
            }
        }
        actions.into_iter().zip(applied).filter_map(|(action, applied)| applied.then_some(action)).collect()
    }

    /// Passes until nothing is left to do, with everybody doing their part; returns everything that was done.
    ///
    /// # Panics
    /// Where it does not come to rest (I6).
    pub fn settle(&mut self) -> Vec<Action> {
        let mut done = Vec::new();
        for _ in 0..200 {
            let applied = self.pass();
            if applied.is_empty() && !self.everybody_acts() {
                return done;
            }
            done.extend(applied);
        }
        panic!("it does not come to rest: {:?}", self.pass());
    }

    /// The owner of a partition by its assignment.
    #[must_use]
    pub fn owner(&self, at: &TopicPartition) -> Option<&str> {
        Some(self.state.assignment(at)?.owner.as_ref()?.name.as_str())
    }

    /// The number of partitions that each name owns.
    #[must_use]
    pub fn loads(&self) -> BTreeMap<String, usize> {
        let mut loads = BTreeMap::new();
        for at in self.state.assignments().keys() {
            let owner = self.owner(at).unwrap_or("nobody").to_owned();
            *loads.entry(owner).or_default() += 1;
        }
        loads
    }

    /// The value of a record, decoded.
    ///
    /// # Panics
    /// Where it is absent or can't be read.
    #[must_use]
    pub fn stored<T: serde::de::DeserializeOwned>(&self, key: &Key) -> T {
        let record = self.store.get(&self.state.layout().encode(key)).expect("it is stored");
        decode(&record.value).expect("it can be read")
    }
}

/// The partition `number` of `topic`.
///
/// # Panics
/// Where `topic` is no name.
#[must_use]
pub fn tp(topic: &str, number: u32) -> TopicPartition {
    TopicPartition::new(topic.parse().expect("a valid name"), number)
}

/// A group in `exclusive` in which a handoff catches up, and a partition of it: the old owner has stopped, and an epoch
/// is reserved for the new one.
///
/// # Panics
/// Where the handoff does not go as handoffs go.
#[must_use]
pub fn catching_up() -> (TestGroup, TopicPartition) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(&GroupConfig { mode: Mode::Exclusive, catch_up: true, ..GroupConfig::default() });
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let at = group.state.handoffs().keys().next().expect("something moves to the second consumer").clone();
    let id = group.state.handoff(&at).expect("it leads the handoff").id.clone();
    group.say(&b, &at, Some(&id), &Ack::Ready);
    group.pass();
    group.say(&a, &at, Some(&id), &Ack::Drained(Drained::default()));
    let phase = group.state.handoff(&at).map(|handoff| handoff.phase);
    assert_eq!(phase, Some(Phase::CatchingUp), "the old owner has stopped");
    (group, at)
}
