//! A group on a store in a map, for tests: decisions are carried out at once and in order, time passes only
//! when it is told to, and every change is held against the rule that epochs rise (I2).
//!
//! Not part of the public interface; behind the feature `testing`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_strategies::Registry;

use crate::ack::{self, Ack, Drained, Verdict};
use crate::action::Action;
use crate::advance::{Now, advance};
use crate::claim::{self, Leases, Remaining};
use crate::id::{Epoch, HandoffId, HandoffIds, Incarnation, Member, TopicPartition};
use crate::key::{DEFAULT_PREFIX, Key, Layout};
use crate::kv::{Change, Compare, Lease, LeaseId, Limits, Must, Op, Record, Revision, Snapshot, Txn};
use crate::memory::Memory;
use crate::moment::{Moment, WallMillis};
use crate::plan::{Plan, WhatIf, plan};
use crate::record::{
    Capability, Consumer, GroupConfig, Leader, Renewal, Router, Source, Taken, Topic, decode, encode,
};
use crate::route::{Route, route};
use crate::session::{self, Leaving};
use crate::state::{GroupState, Touched};
use crate::view::{ConsumerView, Role, consumer_view};
use crate::write::{Fence, chunk};

/// A store in a map: records, revisions and guards as the real ones have them; leases end when it is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shelf {
    records: BTreeMap<Bytes, Record>,
    revision: Revision,
}

impl Shelf {
    /// Carries out a transaction; `None` where a guard does not hold, else what changed.
    ///
    /// # Panics
    /// Where it changes a key twice: a store refuses that, so no decision may ask for it.
    pub fn txn(&mut self, txn: &Txn) -> Option<Vec<Change>> {
        txn.compares.iter().all(|compare| self.holds(compare)).then_some(())?;
        assert_changes_no_key_twice(&txn.then);
        let revision = self.revision.next();
        let ops: Vec<Op> = txn.then.iter().flat_map(|op| self.one_by_one(op)).collect();
        let changes: Vec<Change> = ops.iter().filter_map(|op| self.carry_out(op, revision)).collect();
        self.revision = if changes.is_empty() { self.revision } else { revision };
        Some(changes)
    }

    fn holds(&self, compare: &Compare) -> bool {
        let record = self.records.get(&compare.key);
        match &compare.must {
            Must::BeAbsent => record.is_none(),
            Must::Exist => record.is_some(),
            Must::HaveModRevision(revision) => record.is_some_and(|r| r.mod_revision == *revision),
            Must::HaveCreateRevision(revision) => record.is_some_and(|r| r.create_revision == *revision),
            Must::HaveLease(lease) => record.is_some_and(|r| r.lease == *lease),
            Must::HaveValue(value) => record.is_some_and(|r| r.value == *value),
        }
    }

    /// The removal of a prefix as the removals of its keys.
    fn one_by_one(&self, op: &Op) -> Vec<Op> {
        let Op::DeletePrefix { prefix } = op else { return vec![op.clone()] };
        self.records.keys().filter(|key| key.starts_with(prefix)).cloned().map(Op::delete).collect()
    }

    fn carry_out(&mut self, op: &Op, revision: Revision) -> Option<Change> {
        match op {
            Op::Put { key, value, lease } => {
                let create_revision = self.records.get(key).map_or(revision, |r| r.create_revision);
                let (key, value, lease) = (key.clone(), value.clone(), *lease);
                let record = Record { key, value, create_revision, mod_revision: revision, lease };
                self.records.insert(record.key.clone(), record.clone());
                Some(Change::Put(record))
            }
            Op::Delete { key } => {
                self.records.remove(key).map(|record| Change::Delete { key: record.key, revision })
            }
            Op::DeletePrefix { .. } => unreachable!("several changes: handled by the caller"),
            Op::Get { .. } => unreachable!("no decision reads in a transaction"),
        }
    }

    /// Ends a lease: its keys go.
    pub fn end_lease(&mut self, lease: LeaseId) -> Vec<Change> {
        let keys = self.records.values().filter(|record| record.lease == lease).map(|r| r.key.clone());
        let ops = keys.map(Op::delete).collect();
        self.txn(&Txn::guarded(Vec::new(), ops)).unwrap_or_default()
    }

    /// The record at `key`.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&Record> {
        self.records.get(key)
    }

    /// Everything, in the order of the keys.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// The revision of the last change.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// A listing of everything.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { records: self.records.values().cloned().collect(), revision: self.revision }
    }
}

fn assert_changes_no_key_twice(ops: &[Op]) {
    let mut put = BTreeSet::new();
    for op in ops {
        if let Op::Put { key, .. } = op {
            assert!(put.insert(key), "{} is written twice in one transaction", key.escape_ascii());
        }
    }
    let both = ops.iter().find(|op| matches!(op, Op::Delete { key } if put.contains(key)));
    assert!(both.is_none(), "{both:?} of a key that the same transaction writes");
}

/// One group with its only leader and its members.
#[derive(Debug, Clone)]
pub struct Lab {
    /// The store.
    pub shelf: Shelf,
    /// The view of it, always up to date.
    pub state: GroupState,
    /// What was touched since somebody last took this.
    pub touched: Touched,
    /// What the leader remembers.
    pub memory: Memory,
    /// What the store said last of the leases that are in doubt.
    pub leases: Leases,
    /// The leader's clock.
    pub moment: Moment,
    running: BTreeMap<LeaseId, Moment>,
    fence: Fence,
    dealt: u64,
    epochs: BTreeMap<TopicPartition, (Epoch, Epoch, Option<Member>)>,
}

impl Default for Lab {
    fn default() -> Self {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().expect("a valid name"));
        let key = layout.encode(&Key::Leader);
        let mut lab = Self {
            shelf: Shelf::default(),
            state: GroupState::new(layout),
            touched: Touched::default(),
            memory: Memory::default(),
            leases: Leases::default(),
            moment: Moment(Duration::from_secs(1)),
            running: BTreeMap::new(),
            fence: Fence::new(Compare::new(key, Must::HaveCreateRevision(Revision(1)))),
            dealt: 0,
            epochs: BTreeMap::new(),
        };
        lab.put(&Key::Leader, encode(&Leader::new("i".to_owned(), "http://i".to_owned(), WallMillis(0))));
        lab
    }
}

/// What is written and changed by hand.
impl Lab {
    /// A group with these topics of so many partitions.
    #[must_use]
    pub fn with_topics(topics: &[(&str, u32)]) -> Self {
        let mut lab = Self::default();
        topics.iter().for_each(|(name, partitions)| lab.topic(name, *partitions));
        lab
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
        let Some(changes) = self.shelf.txn(txn) else { return false };
        self.take_in(&changes);
        true
    }

    fn take_in(&mut self, changes: &[Change]) {
        let touched = self.state.apply(changes, self.shelf.revision());
        self.memory.observe(&self.state, &touched, self.moment);
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
                let rises = assignment.epoch >= *epoch && held >= *before_held;
                assert!(
                    rises && (held > *before_held || owner == *before),
                    "{at}: {before_held} of {before:?}, then {held} of {owner:?}"
                );
            }
            self.epochs.insert(at, (assignment.epoch, held, owner));
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

    /// Every session that is registered, and not being ended, keeps its lease alive at every moment.
    fn keep_alive(&mut self) {
        let registered = self.state.consumers().values().filter_map(|entry| entry.readable());
        let kept = registered.filter(|consumer| !consumer.is_ending()).map(|consumer| consumer.lease);
        let moment = self.moment;
        self.running.extend(kept.map(|lease| (lease, moment)).collect::<Vec<_>>());
    }

    /// Asks about the leases that are in doubt, as a leader does before it decides.
    fn ask_leases(&mut self) {
        self.keep_alive();
        let wanted = claim::doubtful(&self.state, self.state.assignments().keys());
        let said = wanted.into_iter().map(|(lease, ttl)| match self.running.get(&lease) {
            Some(since) if self.moment.since(*since) < ttl => {
                (lease, Remaining::Left(ttl.saturating_sub(self.moment.since(*since))))
            }
            _ => (lease, Remaining::Gone),
        });
        self.leases = said.collect();
        self.memory.see_leases(&self.leases, self.moment);
    }
}

/// What members do.
impl Lab {
    /// A new session of the consumer `name`, which takes over where one is registered.
    pub fn join(&mut self, name: &str) -> Member {
        self.join_as(name, |_| {})
    }

    /// A new session whose registration is `adjust`ed before it is written.
    ///
    /// # Panics
    /// Where `name` is no name.
    pub fn join_as(&mut self, name: &str, adjust: impl FnOnce(&mut Consumer)) -> Member {
        self.dealt += 1;
        let incarnation = Incarnation::new(&format!("{name}-{}", self.dealt)).expect("a valid incarnation");
        let member = Member { name: name.parse().expect("a valid name"), incarnation: incarnation.clone() };
        let mut consumer = Consumer::new(incarnation, 30_000, Renewal::Client, WallMillis(0));
        consumer.capabilities = [Capability::Taken, Capability::Drain, Capability::CatchUp].into();
        adjust(&mut consumer);
        let lease = self.lease();
        let takes_over = self.state.mod_revision(&Key::Consumer(member.name.clone()));
        let write = session::open(self.state.layout(), &member.name, &consumer, lease, takes_over);
        assert!(self.apply(&write.unfenced()), "nobody else registers meanwhile");
        member
    }

    /// A new session of the router `name`, which takes over where one is registered.
    ///
    /// # Panics
    /// Where `name` is no name.
    pub fn route_as(&mut self, name: &str) -> Member {
        self.dealt += 1;
        let incarnation = Incarnation::new(&format!("{name}-{}", self.dealt)).expect("a valid incarnation");
        let member = Member { name: name.parse().expect("a valid name"), incarnation: incarnation.clone() };
        let lease = self.lease();
        let key = self.state.layout().encode(&Key::Router(member.name.clone()));
        let value = encode(&Router::new(incarnation, 30_000, WallMillis(0)));
        assert!(self.apply(&Txn::guarded(Vec::new(), vec![Op::put_leased(key, value, lease.id)])));
        member
    }

    /// What the router says of a handoff, recorded where it counts.
    ///
    /// # Panics
    /// Where a judgement on the newest state does not apply.
    pub fn freeze(&mut self, router: &Member, at: &TopicPartition, id: &HandoffId) -> Verdict {
        let verdict = ack::judge_router(&self.state, router, at, id);
        if let Verdict::Record { write, .. } = &verdict {
            assert!(self.apply(&write.clone().unfenced()), "a judgement on the newest state applies");
        }
        verdict
    }

    fn lease(&mut self) -> Lease {
        self.dealt += 1;
        let id = LeaseId(i64::try_from(self.dealt).expect("a test deals out few"));
        Lease { id, ttl: Duration::from_secs(30) }
    }

    /// The session of `name` ends with its lease.
    ///
    /// # Panics
    /// Where `name` is not registered.
    pub fn crash(&mut self, name: &str) {
        let name = name.parse().expect("a valid name");
        let lease = self.state.registration(&name).expect("registered").lease;
        self.running.remove(&lease);
        let changes = self.shelf.end_lease(lease);
        self.take_in(&changes);
    }

    /// The member leaves; whether its session was there.
    pub fn leave(&mut self, member: &Member, leaving: &Leaving) -> bool {
        let Some(farewell) = session::leave(&self.state, member, leaving, WallMillis(0)) else {
            return false;
        };
        let is_written = farewell.write.is_none_or(|write| self.apply(&write.unfenced()));
        if let Some(lease) = farewell.ends.filter(|_| is_written) {
            self.running.remove(&lease);
            self.end_lease(lease);
        }
        is_written
    }

    /// The member leaves for a restart; returns the lease of the mark that it leaves behind.
    pub fn restart(&mut self, member: &Member) -> LeaseId {
        let lease = self.lease();
        assert!(self.leave(member, &Leaving::Restart(lease)), "it is registered");
        lease.id
    }

    /// The member says that it has stopped, with a mark; whether that counts.
    pub fn let_go(&mut self, member: &Member) -> bool {
        let lease = self.lease();
        self.leave(member, &Leaving::Noted(lease))
    }

    /// A lease ends.
    pub fn end_lease(&mut self, lease: LeaseId) {
        let changes = self.shelf.end_lease(lease);
        self.take_in(&changes);
    }

    /// What the member says, recorded where it counts.
    pub fn say(
        &mut self,
        member: &Member,
        at: &TopicPartition,
        id: Option<&HandoffId>,
        ack: &Ack,
    ) -> Verdict {
        let verdict = ack::judge(&self.state, member, at, id, ack, WallMillis(0));
        if let Verdict::Record { write, .. } = &verdict {
            assert!(self.apply(&write.clone().unfenced()), "a judgement on the newest state applies");
        }
        verdict
    }

    /// What the member should be told.
    #[must_use]
    pub fn view(&self, member: &Member) -> ConsumerView {
        consumer_view(&self.state, member)
    }

    /// Everybody who is registered, in their sessions.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let session = |(name, entry): (&crate::name::MemberName, &crate::state::Entry<Consumer>)| {
            let incarnation = entry.readable()?.incarnation.clone();
            Some(Member { name: name.clone(), incarnation })
        };
        self.state.consumers().iter().filter_map(session).collect()
    }

    /// Everybody says whatever their role has to say next; whether anybody did.
    pub fn everybody_acts(&mut self) -> bool {
        let mut acted = false;
        for member in self.members() {
            for (at, role) in self.view(&member).roles {
                acted |= self.acts(&member, &at, &role);
            }
        }
        for router in self.routers() {
            for at in self.state.handoffs().keys().cloned().collect::<Vec<_>>() {
                let Some(Route::Stash { handoff }) = route(&self.state, &at) else { continue };
                acted |= matches!(self.freeze(&router, &at, &handoff), Verdict::Record { .. });
            }
        }
        acted
    }

    /// Every router that is registered, in its session.
    fn routers(&self) -> Vec<Member> {
        let session = |(name, entry): (&crate::name::MemberName, &crate::state::Entry<Router>)| {
            Some(Member { name: name.clone(), incarnation: entry.readable()?.incarnation.clone() })
        };
        self.state.routers().iter().filter_map(session).collect()
    }

    fn acts(&mut self, member: &Member, at: &TopicPartition, role: &Role) -> bool {
        let (id, ack) = match role {
            Role::Warming { handoff, .. } => (handoff, Ack::Ready),
            Role::Draining { handoff, .. } => (handoff, Ack::Drained(Drained::default())),
            Role::CatchingUp { handoff, .. } => (handoff, Ack::CaughtUp),
            Role::Owner { taking: Some(handoff), .. } => (handoff, Ack::Taken(Taken::default())),
            Role::Releasing { handoff, .. } => (handoff, Ack::Released),
            Role::Owner { taking: None, .. } => return false,
        };
        matches!(self.say(member, at, Some(id), &ack), Verdict::Record { .. })
    }
}

/// What the leader does.
impl Lab {
    /// The leader's circumstances.
    #[must_use]
    pub const fn now(&self) -> Now<'_> {
        Now {
            memory: &self.memory,
            moment: self.moment,
            leases: &self.leases,
            wall: WallMillis(0),
            strategies: Registry::builtin(),
        }
    }

    /// What would be planned; changes nothing.
    ///
    /// # Panics
    /// Where there is no plan.
    #[must_use]
    pub fn plan(&self) -> Plan {
        plan(&self.state, self.now(), &mut HandoffIds::new(self.dealt), &WhatIf::default())
            .expect("it can be planned")
    }

    /// What follows for the handoffs that there are.
    #[must_use]
    pub fn steps(&self) -> Vec<Action> {
        self.state.handoffs().keys().filter_map(|lead| advance(&self.state, lead, self.now())).collect()
    }

    /// One pass of the leader: steps and plan, carried out; returns what applied.
    pub fn pass(&mut self) -> Vec<Action> {
        self.dealt += 1;
        let mut actions = self.steps();
        actions.extend(self.plan().actions);
        self.carry_out(actions)
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

    /// How many partitions each name owns.
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
        let record = self.shelf.get(&self.state.layout().encode(key)).expect("it is stored");
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
