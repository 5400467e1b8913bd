//! A group as its records tell it: the one value that every decision is made on.
//!
//! [`GroupState::reset`] takes a whole listing, [`GroupState::apply`] what changed since; both return what
//! they [touched](Touched), so that the cost of an event is in proportion to what it concerns.

mod concerns;
mod entry;
mod history;
mod index;
mod members;
mod readability;
mod routers;
mod scope;
mod shared_map;
mod topics;
mod touched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use concerns::Concern;
pub use entry::{Entry, Versioned};
pub use members::Presence;
pub use scope::Scope;
pub use shared_map::{Entries, SharedMap};
pub use touched::Touched;

use crate::key::{Key, Layout};
use crate::record::{
    Assignment, ClusterRecord, Consumer, GroupConfig, Handoff, HandoffRecord, HistoryNote, Intent,
    LeaderRecord, Rejoin, Router, RouterAck, Topic, Unreadable,
};
use concerns::Concerns;
use index::RoleIndex;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::{Change, Record, Revision, Snapshot};
use kafka_assigner_types::name::{MemberName, TopicName};

/// Everything known of one group at one revision. A clone is cheap, and so is the first change after it: they share
/// what neither of them changes ([`SharedMap`]).
#[derive(Debug, Clone)]
pub struct GroupState {
    layout: Arc<Layout>,
    revision: Revision,
    config: Option<Entry<GroupConfig>>,
    topics: SharedMap<TopicName, Entry<Topic>>,
    consumers: SharedMap<MemberName, Entry<Consumer>>,
    rejoins: SharedMap<MemberName, Entry<Rejoin>>,
    assignments: SharedMap<TopicPartition, Entry<Assignment>>,
    handoffs: SharedMap<TopicPartition, Entry<HandoffRecord>>,
    intents: SharedMap<TopicPartition, Entry<Intent>>,
    routers: SharedMap<MemberName, Entry<Router>>,
    router_acks: SharedMap<TopicPartition, SharedMap<MemberName, Entry<RouterAck>>>,
    leader: Option<Entry<LeaderRecord>>,
    cluster: Option<Arc<ClusterRecord>>,
    history: Option<Entry<HistoryNote>>,
    roles: RoleIndex,
    concerns: Concerns,
    unreadable: Arc<BTreeSet<TopicPartition>>,
}

impl GroupState {
    /// A group without any record.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout: Arc::new(layout),
            revision: Revision::default(),
            config: None,
            topics: SharedMap::default(),
            consumers: SharedMap::default(),
            rejoins: SharedMap::default(),
            assignments: SharedMap::default(),
            handoffs: SharedMap::default(),
            intents: SharedMap::default(),
            routers: SharedMap::default(),
            router_acks: SharedMap::default(),
            leader: None,
            cluster: None,
            history: None,
            roles: RoleIndex::default(),
            concerns: Concerns::default(),
            unreadable: Arc::default(),
        }
    }

    /// Replaces everything by a listing of the group's prefix. Records that can no longer be read keep their
    /// last good value.
    pub fn reset(&mut self, snapshot: &Snapshot) -> Touched {
        let listed: BTreeMap<Key, &Record> = snapshot
            .records
            .iter()
            .filter_map(|record| Some((self.layout.decode(&record.key)?, record)))
            .collect();
        let gone = self.keys().into_iter().filter(|key| !listed.contains_key(key));
        let gone =
            gone.map(|key| Change::Delete { key: self.layout.encode(&key), revision: snapshot.revision });
        let put = listed.iter().filter(|(key, record)| self.mod_revision(key) != Some(record.mod_revision));
        let put = put.map(|(_, record)| Change::Put(Record::clone(record)));
        let changes: Vec<Change> = gone.chain(put).collect();
        self.apply(&changes, snapshot.revision)
    }

    /// Applies what changed since, in order; afterwards the state stands at `revision`. Keys that mean nothing
    /// to this version are passed over.
    pub fn apply(&mut self, changes: &[Change], revision: Revision) -> Touched {
        let mut touched = Touched::default();
        // The changes of one transaction are looked at as a whole: between its changes nobody has a role.
        for written in changes.chunk_by(|one, next| one.revision() == next.revision()) {
            let now = self.apply_written(written);
            touched.merge(now);
        }
        self.revision = self.revision.max(revision);
        touched
    }

    /// Applies what was written at one revision.
    fn apply_written(&mut self, changes: &[Change]) -> Touched {
        let mut touched = Touched::default();
        for change in changes {
            let Some(key) = self.layout.decode(change.key()) else { continue };
            match change {
                Change::Put(record) => self.set(key, Some(record), &mut touched),
                Change::Delete { .. } => self.set(key, None, &mut touched),
            }
        }
        if let Some(change) = changes.first() {
            self.note_concerned(&touched, change.revision());
        }
        touched
    }

    fn set(&mut self, key: Key, record: Option<&Record>, touched: &mut Touched) {
        match key {
            Key::Consumer(name) => {
                let before = self.consumers.get(&name).cloned();
                entry::set(&mut self.consumers, name.clone(), record);
                touched.consumer(&name, before.as_ref(), self.consumers.get(&name));
                if touched.registrations.contains(&name) {
                    touched.routes.extend(self.roles.of(&name).cloned());
                }
            }
            Key::Rejoin(name) => {
                entry::set(&mut self.rejoins, name, record);
                touched.membership = true;
            }
            Key::Assignment(partition) => self.set_assignment(&partition, record, touched),
            Key::Handoff(partition) => self.set_handoff(&partition, record, touched),
            Key::Intent(partition) => {
                entry::set(&mut self.intents, partition.clone(), record);
                touched.units.insert(partition);
            }
            Key::Router(name) => {
                entry::set(&mut self.routers, name, record);
                touched.routers = true;
            }
            Key::RouterAck(partition, router) => self.set_router_ack(&partition, router, record, touched),
            Key::GroupConfig => {
                entry::set_one(&mut self.config, record);
                touched.config = true;
            }
            Key::Topic(topic) => self.set_topic(topic, record, touched),
            Key::Leader => {
                entry::set_one(&mut self.leader, record);
                touched.leader = true;
            }
            Key::History => entry::set_one(&mut self.history, record),
        }
    }

    /// Partitions that come and go with their topic concern the owners that they have, and those who are to have them.
    fn set_topic(&mut self, topic: TopicName, record: Option<&Record>, touched: &mut Touched) {
        let count = |state: &Self| Some(state.topics.get(&topic)?.last_good()?.partitions);
        let before = (count(self), self.topic_since(&topic));
        entry::set(&mut self.topics, topic.clone(), record);
        touched.topics = true;
        if (count(self), self.topic_since(&topic)) == before {
            return;
        }
        let all = TopicPartition::new(topic.clone(), 0)..=TopicPartition::new(topic, u32::MAX);
        for (at, entry) in self.assignments.range(all) {
            touched.routes.extend([at.clone()]);
            if let Some(owner) = entry.last_good().and_then(|assignment| assignment.owner.as_ref()) {
                touched.member(owner.name.clone()).extend([at.clone()]);
            }
            if let Some(handoff) = self.handoff_of(at) {
                touched.member(handoff.new.name.clone()).extend([at.clone()]);
            }
        }
    }

    fn set_assignment(&mut self, at: &TopicPartition, record: Option<&Record>, touched: &mut Touched) {
        let owner = |state: &Self| Some(state.assignment(at)?.owner.as_ref()?.member());
        let stop = |state: &Self| state.assignment(at)?.stop.clone();
        let (before, stop_before) = (owner(self), stop(self));
        entry::set(&mut self.assignments, at.clone(), record);
        let after = owner(self);
        touched.stops |= stop(self) != stop_before;
        if let Some(assignment) = self.assignment(at).filter(|_| after.is_some() && after != before) {
            *touched.moves.entry(assignment.why.label()).or_default() += 1;
        }
        let names = |owner: &Option<Member>| owner.as_ref().map(|owner| owner.name.clone());
        self.roles.replace(at, names(&before).iter(), names(&after).iter());
        before.into_iter().chain(after).for_each(|owner| touched.member(owner.name).extend([at.clone()]));
        touched.routes.extend([at.clone()]);
        touched.units.insert(self.lead_of(at));
        self.note_readability(at, touched);
    }

    fn set_handoff(&mut self, at: &TopicPartition, record: Option<&Record>, touched: &mut Touched) {
        let (before, meant_before) = (self.handoff(at).cloned(), self.handoff_of(at).cloned());
        let was_broken = self.handoffs.get(at).is_some_and(|entry| entry.error().is_some());
        entry::set_by(&mut self.handoffs, at.clone(), record, |record| understand_handoff(at, record));
        let is_broken = self.handoffs.get(at).is_some_and(|entry| entry.error().is_some());
        let after = self.handoff(at).cloned();
        let roles = &mut self.roles;
        before.iter().for_each(|handoff| roles.remove(handoff));
        after.iter().for_each(|handoff| roles.add(handoff));
        for handoff in [meant_before.as_ref(), self.handoff_of(at)].into_iter().flatten() {
            touched.routes.extend(concerned_at(handoff, at));
            for member in [&handoff.old, &handoff.new] {
                touched.member(member.name.clone()).extend(concerned_at(handoff, at));
            }
        }
        touched.units.insert(at.clone());
        if was_broken || is_broken {
            self.references_to(at).into_iter().for_each(|member| self.note_readability(&member, touched));
        }
        self.note_readability(at, touched);
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        keys.extend(self.consumers.keys().cloned().map(Key::Consumer));
        keys.extend(self.rejoins.keys().cloned().map(Key::Rejoin));
        keys.extend(self.assignments.keys().cloned().map(Key::Assignment));
        keys.extend(self.handoffs.keys().cloned().map(Key::Handoff));
        keys.extend(self.intents.keys().cloned().map(Key::Intent));
        keys.extend(self.routers.keys().cloned().map(Key::Router));
        keys.extend(self.router_ack_keys());
        keys.extend(self.config.as_ref().map(|_| Key::GroupConfig));
        keys.extend(self.topics.keys().cloned().map(Key::Topic));
        keys.extend(self.leader.as_ref().map(|_| Key::Leader));
        keys.extend(self.history.as_ref().map(|_| Key::History));
        keys
    }
}

/// The partitions of which a record of `handoff` at `at` tells something: its whole unit where it is the handoff
/// itself, and the one where it only refers to it.
fn concerned_at(handoff: &Handoff, at: &TopicPartition) -> Vec<TopicPartition> {
    if handoff.lead() == at { handoff.unit.clone() } else { vec![at.clone()] }
}

/// A handoff lies at the first partition of its unit, or something is wrong with it.
fn understand_handoff(at: &TopicPartition, record: &Record) -> Result<HandoffRecord, Unreadable> {
    match HandoffRecord::read(&record.value)? {
        HandoffRecord::Lead(handoff) if handoff.lead() != at => {
            Err(Unreadable(format!("a handoff that belongs to {}", handoff.lead())))
        }
        record => Ok(record),
    }
}

/// The contents of the records.
impl GroupState {
    /// The key layout of the group.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The store's revision at which this state stands.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// True if the group has any record besides an election's.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.config.is_none()
            && self.topics.is_empty()
            && self.consumers.is_empty()
            && self.assignments.is_empty()
            && self.handoffs.is_empty()
    }

    /// The group's configuration: the last one that could be read, the defaults where there is none, and
    /// `None` where there is one and no good one was ever seen: then nothing may be planned.
    #[must_use]
    pub fn config(&self) -> Option<GroupConfig> {
        match &self.config {
            None => Some(GroupConfig::default()),
            Some(entry) => entry.last_good().cloned(),
        }
    }

    /// One value of [`config`](Self::config), without a copy of the others; the default where nothing good was seen.
    pub fn configured<T>(&self, value: impl FnOnce(&GroupConfig) -> T) -> T {
        match self.config.as_ref().and_then(Entry::last_good) {
            Some(config) => value(config),
            None => value(&GroupConfig::default()),
        }
    }

    /// The configuration's entry, to rewrite it.
    #[must_use]
    pub const fn config_entry(&self) -> Option<&Entry<GroupConfig>> {
        self.config.as_ref()
    }

    /// The registrations, by name.
    #[must_use]
    pub const fn consumers(&self) -> &SharedMap<MemberName, Entry<Consumer>> {
        &self.consumers
    }

    /// The names that may come back, with the mark that says so.
    #[must_use]
    pub const fn rejoins(&self) -> &SharedMap<MemberName, Entry<Rejoin>> {
        &self.rejoins
    }

    /// The assignments, by partition.
    #[must_use]
    pub const fn assignments(&self) -> &SharedMap<TopicPartition, Entry<Assignment>> {
        &self.assignments
    }

    /// The handoff records, by partition.
    #[must_use]
    pub const fn handoffs(&self) -> &SharedMap<TopicPartition, Entry<HandoffRecord>> {
        &self.handoffs
    }

    /// The intents, by partition.
    #[must_use]
    pub const fn intents(&self) -> &SharedMap<TopicPartition, Entry<Intent>> {
        &self.intents
    }

    /// The leader.
    #[must_use]
    pub const fn leader(&self) -> Option<&Entry<LeaderRecord>> {
        self.leader.as_ref()
    }

    /// The assignment of a partition as it was last readable.
    #[must_use]
    pub fn assignment(&self, at: &TopicPartition) -> Option<&Assignment> {
        self.assignments.get(at)?.last_good()
    }

    /// The handoff that lies at `at`, as it was last readable; `None` where a mere reference lies there.
    #[must_use]
    pub fn handoff(&self, at: &TopicPartition) -> Option<&Handoff> {
        match self.handoffs.get(at)?.last_good()? {
            HandoffRecord::Lead(handoff) => Some(handoff),
            HandoffRecord::Reference(_) => None,
        }
    }

    /// The handoff of the unit to which `at` belongs, wherever it lies.
    #[must_use]
    pub fn handoff_of(&self, at: &TopicPartition) -> Option<&Handoff> {
        match self.handoffs.get(at)?.last_good()? {
            HandoffRecord::Lead(handoff) => Some(handoff),
            HandoffRecord::Reference(reference) => {
                self.handoff(&reference.lead).filter(|handoff| handoff.id == reference.id)
            }
        }
    }

    /// The partition at which the handoff of the unit of `at` lies, or `at` itself where there is none.
    #[must_use]
    pub fn lead_of(&self, at: &TopicPartition) -> TopicPartition {
        self.handoff_of(at).map_or_else(|| at.clone(), |handoff| handoff.lead().clone())
    }

    /// The revision of the last change of `key`; `None` where it does not exist.
    #[must_use]
    pub fn mod_revision(&self, key: &Key) -> Option<Revision> {
        match key {
            Key::Consumer(name) => self.consumers.get(name).map(Entry::mod_revision),
            Key::Rejoin(name) => self.rejoins.get(name).map(Entry::mod_revision),
            Key::Assignment(at) => self.assignments.get(at).map(Entry::mod_revision),
            Key::Handoff(at) => self.handoffs.get(at).map(Entry::mod_revision),
            Key::Intent(at) => self.intents.get(at).map(Entry::mod_revision),
            Key::Router(name) => self.routers.get(name).map(Entry::mod_revision),
            Key::RouterAck(at, router) => self.router_acks.get(at)?.get(router).map(Entry::mod_revision),
            Key::GroupConfig => self.config.as_ref().map(Entry::mod_revision),
            Key::Topic(topic) => self.topics.get(topic).map(Entry::mod_revision),
            Key::Leader => self.leader.as_ref().map(Entry::mod_revision),
            Key::History => self.history.as_ref().map(Entry::mod_revision),
        }
    }
}
