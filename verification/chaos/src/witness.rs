//! Watches the sessions of the group from outside: who was taken for dead, and what each had to hear of by when. And who
//! led, and which topics the group knew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use futures::StreamExt as _;
use kafka_assigner_core::key::Layout;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Change, Revision};
use kafka_assigner_types::name::MemberName;
use tokio_util::task::AbortOnDropHandle;

/// A witness that watches until it is dropped.
#[derive(Debug)]
pub(crate) struct Witness {
    seen: Arc<Mutex<Watched>>,
    watching: AbortOnDropHandle<Result<(), Error>>,
}

/// The observations of the sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Sessions that were ended because their processes seemed to be dead.
    pub(crate) takeovers: Vec<Takeover>,
    /// Changes of what sessions have to know, in their order.
    pub(crate) concerns: Vec<Concerned>,
    /// The time at which each session was over.
    pub(crate) ended: BTreeMap<String, Moment>,
    /// The terms of the leaders, one after the other.
    pub(crate) terms: Vec<Term>,
    /// The ids of topics with partitions that the group's records ever had.
    pub(crate) topic_ids: BTreeSet<String>,
}

/// A leadership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    /// The instance.
    pub(crate) instance: String,
    /// Since when.
    pub(crate) from: Moment,
    /// Until when; `None`: it leads still.
    pub(crate) to: Option<Moment>,
}

/// The end of a session whose process seemed to be dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Takeover {
    /// The session.
    pub(crate) incarnation: String,
    /// The time at which it was marked.
    pub(crate) marked: Moment,
    /// The time at which it was ended.
    pub(crate) at: Moment,
}

/// A change of what a session has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concerned {
    /// The session.
    pub(crate) incarnation: String,
    /// The revision up to which its stream has to tell.
    pub(crate) revision: u64,
    /// Since when.
    pub(crate) at: Moment,
}

#[derive(Debug)]
struct Watched {
    state: GroupState,
    seen: Seen,
    members: BTreeMap<MemberName, Session>,
}

/// A session that is registered.
#[derive(Debug)]
struct Session {
    member: Member,
    concern: Revision,
    marked: Option<Moment>,
    is_taken_over: bool,
}

impl Witness {
    /// Watches the group `group`, whose keys begin with `prefix`, in `store`.
    pub(crate) fn start(store: impl Store, prefix: &str, group: &str) -> Result<Self> {
        let state = GroupState::new(Layout::new(prefix, group.parse()?));
        let watched = Watched { state, seen: Seen::default(), members: BTreeMap::new() };
        let seen = Arc::new(Mutex::new(watched));
        let watching = AbortOnDropHandle::new(tokio::spawn(watch(store, Arc::clone(&seen))));
        Ok(Self { seen, watching })
    }

    /// The revision up to which everything was seen.
    pub(crate) fn revision(&self) -> Revision {
        lock(&self.seen).state.revision()
    }

    /// The observations so far; `None` where the watch has ended.
    pub(crate) fn seen(&self) -> Option<Seen> {
        (!self.watching.is_finished()).then(|| lock(&self.seen).seen.clone())
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn watch(store: impl Store, watched: Arc<Mutex<Watched>>) -> Result<(), Error> {
    let prefix = lock(&watched).state.layout().prefix();
    let mut batches = store.watch(&prefix, Revision(1)).await?;
    while let Some(batch) = batches.next().await {
        let (batch, now) = (batch?, Moment::now());
        let mut watched = lock(&watched);
        let changes = batch.changes;
        for together in changes.chunk_by(|one, next| one.revision() == next.revision()) {
            watched.take(together, now);
        }
    }
    Ok(())
}

impl Watched {
    fn take(&mut self, changes: &[Change], now: Moment) {
        let Some(revision) = changes.first().map(Change::revision) else { return };
        let touched = self.state.apply(changes, revision);
        self.look_at_leader(now);
        self.look_at_topics();
        let names = touched.members.into_keys().chain(touched.registrations).chain(touched.suspicions);
        let mut names: Vec<MemberName> = names.collect();
        names.sort_unstable();
        names.dedup();
        names.iter().for_each(|name| self.look(name, now));
    }

    fn look_at_leader(&mut self, now: Moment) {
        let leader = self.state.leader().and_then(Entry::last_good);
        note_leader(&mut self.seen.terms, leader.map(|leader| &*leader.instance), now);
    }

    fn look_at_topics(&mut self) {
        let topics = self.state.topics().values().filter_map(Entry::last_good);
        let ids = topics.filter(|topic| topic.partitions > 0).filter_map(|topic| topic.topic_id.clone());
        self.seen.topic_ids.extend(ids);
    }

    fn look(&mut self, name: &MemberName, now: Moment) {
        let Self { state, seen, members } = self;
        let registration = state.registration(name);
        let incarnation = registration.map(|consumer| consumer.incarnation.clone());
        if let Some(known) =
            members.get(name).filter(|known| Some(&known.member.incarnation) != incarnation.as_ref())
        {
            seen.ended.insert(known.member.incarnation.to_string(), now);
            members.remove(name);
        }
        let (Some(registration), Some(incarnation)) = (registration, incarnation) else { return };
        let member = Member { name: name.clone(), incarnation };
        let session = members.entry(name.clone()).or_insert_with(|| Session::new(member));
        let marked = registration.suspected.is_some();
        session.marked = marked.then(|| session.marked.unwrap_or(now));
        session.look(state, seen, now);
    }
}

impl Session {
    const fn new(member: Member) -> Self {
        Self { member, concern: Revision(0), marked: None, is_taken_over: false }
    }

    fn look(&mut self, state: &GroupState, seen: &mut Seen, now: Moment) {
        let incarnation = || self.member.incarnation.to_string();
        if let Some(concern) = state.concern(&self.member).filter(|concern| concern.revision > self.concern) {
            let revision = concern.revision.0;
            seen.concerns.push(Concerned { incarnation: incarnation(), revision, at: now });
            self.concern = concern.revision;
        }
        if state.is_taken_over(&self.member) && !self.is_taken_over {
            let marked = self.marked.unwrap_or(now);
            seen.takeovers.push(Takeover { incarnation: incarnation(), marked, at: now });
            self.is_taken_over = true;
        }
    }
}

/// Ends the term of whoever led before, and begins that of `leader`, where it is another one.
fn note_leader(terms: &mut Vec<Term>, leader: Option<&str>, now: Moment) {
    let before = terms.last_mut().filter(|term| term.to.is_none());
    if before.as_ref().map(|term| &*term.instance) == leader {
        return;
    }
    if let Some(before) = before {
        before.to = Some(now);
    }
    terms.extend(leader.map(|leader| Term { instance: leader.to_owned(), from: now, to: None }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_follow_each_other_as_leaders_come_and_go() {
        let mut terms = Vec::new();
        let heard = [None, Some("a"), Some("a"), None, Some("a"), Some("b"), Some("b")];
        for (at, leader) in (0..).zip(heard) {
            note_leader(&mut terms, leader, Moment(at));
        }
        let seen: Vec<_> =
            terms.iter().map(|term| (&*term.instance, term.from.0, term.to.map(|to| to.0))).collect();
        assert_eq!(seen, [("a", 1, Some(3)), ("a", 4, Some(5)), ("b", 5, None)]);
    }
}
