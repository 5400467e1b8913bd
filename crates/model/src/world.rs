//! Everything that there is in one state.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_core::id::{HandoffId, Incarnation, Member, TopicPartition};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::kv::{Lease, LeaseId, Op, Revision, Txn};
use kafka_assigner_core::lab::tp;
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::record::{Consumer, Leader, Phase, Renewal, Source, Topic, encode};
use kafka_assigner_core::session::open;
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::view::Role;

use crate::bounds::Bounds;
use crate::property::Invariant;
use crate::scene::Scene;
use crate::session::{Said, Session};

/// One state.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The store.
    pub now: Arc<Scene>,
    /// What each instance knows of it.
    pub views: Vec<Arc<Scene>>,
    /// The term in which each instance believes to lead.
    pub terms: [Option<Revision>; 2],
    /// All sessions there ever were.
    pub sessions: Vec<Session>,
    /// An ack that is under way.
    pub stray: Option<Stray>,
    /// A write whose outcome nobody knows.
    pub limbo: Option<Late>,
    /// A registration that can't be read, with its value.
    pub spoiled: Option<(u8, Bytes)>,
    /// What may still happen.
    pub left: Bounds,
    /// The partitions whose owner died and that no owner works on since.
    pub excused: BTreeSet<TopicPartition>,
    /// What is broken.
    pub broken: Option<Invariant>,
}

/// An ack that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stray {
    /// Who says it.
    pub speaker: Member,
    /// Of what.
    pub at: TopicPartition,
    /// Of which attempt.
    pub id: HandoffId,
    /// What it says.
    pub said: Said,
}

/// A leader's write that may apply later.
#[derive(Debug, Clone, PartialEq)]
pub struct Late {
    /// Whose it is.
    pub instance: usize,
    /// What it writes.
    pub txn: Txn,
}

/// The name of a consumer by its number.
pub(crate) fn name(number: u8) -> String {
    char::from(b'a' + number).to_string()
}

impl World {
    /// The first consumer is registered; nothing is assigned yet.
    #[must_use]
    pub fn begin(bounds: Bounds) -> Self {
        let scene = Scene::default();
        let layout = scene.state.layout().clone();
        let topic = encode(&Topic::new(bounds.partitions, Source::Static));
        let leader = encode(&Leader::new("0".to_owned(), String::new(), WallMillis(0)));
        let scene = scene.written(vec![
            Op::put(layout.encode(&Key::Topic("t".parse().expect("a valid name"))), topic),
            Op::put(layout.encode(&Key::Leader), leader),
        ]);
        let term = scene.revision();
        let now = Arc::new(scene);
        let mut world = Self {
            views: vec![Arc::clone(&now); usize::from(bounds.instances)],
            now,
            terms: [Some(term), None],
            sessions: Vec::new(),
            stray: None,
            limbo: None,
            spoiled: None,
            left: bounds,
            excused: (0..bounds.partitions).map(|number| tp("t", number)).collect(),
            broken: None,
        };
        world.register(0, false);
        world.views.fill(Arc::clone(&world.now));
        world
    }

    /// All partitions.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = TopicPartition> + use<> {
        (0..self.left.partitions).map(|number| tp("t", number))
    }

    /// A process of the consumer `number` registers, in the place of whoever is registered under the name.
    pub(crate) fn register(&mut self, number: u8, keeps_incarnation: bool) {
        let serial = self.sessions.len();
        let text = if keeps_incarnation {
            format!("{}-0", name(number))
        } else {
            format!("{}-{serial}", name(number))
        };
        let incarnation = Incarnation::new(&text).expect("a valid incarnation");
        let member =
            Member { name: name(number).parse().expect("a valid name"), incarnation: incarnation.clone() };
        let id = LeaseId(i64::try_from(serial).expect("few sessions") + 1);
        let lease = Lease { id, ttl: std::time::Duration::from_secs(30) };
        let takes_over = self.now.state.mod_revision(&Key::Consumer(member.name.clone()));
        let consumer = Consumer::new(incarnation, 30_000, Renewal::Client, WallMillis(0));
        let write = open(self.now.state.layout(), &member.name, &consumer, lease, takes_over);
        self.apply(&write.unfenced());
        self.sessions.push(Session {
            member,
            lease: id,
            alive: true,
            fenced: false,
            instance: usize::from(number) % self.views.len(),
            seen: self.now.revision(),
            roles: Default::default(),
            works: BTreeSet::new(),
            said: BTreeSet::new(),
        });
    }

    /// Carries out a transaction, and holds what it changed against what must hold; whether it applied.
    pub(crate) fn apply(&mut self, txn: &Txn) -> bool {
        let Some(next) = self.now.after(txn) else { return false };
        let before = std::mem::replace(&mut self.now, Arc::new(next));
        self.check_epochs(&before);
        self.check_attempts(&before);
        self.check_sessions(&before);
        true
    }

    pub(crate) fn breaks(&mut self, invariant: Invariant) {
        self.broken.get_or_insert(invariant);
    }

    fn check_epochs(&mut self, before: &Scene) {
        let falls = self.partitions().any(|at| {
            let (Some(old), Some(new)) = (before.state.assignment(&at), self.now.state.assignment(&at))
            else {
                return false;
            };
            let is_same = old.owner == new.owner && old.epoch == new.epoch;
            !is_same && new.epoch <= old.epoch
        });
        if falls {
            self.breaks(Invariant::Epochs);
        }
    }

    fn check_attempts(&mut self, before: &Scene) {
        for at in self.partitions() {
            let Some(new) = self.now.state.handoff(&at).cloned() else { continue };
            if before.state.handoff(&at).is_some_and(|old| old.id != new.id) {
                self.breaks(Invariant::OneAttempt);
            }
            let spoke = |said| {
                let session = self.sessions.iter().rfind(|session| session.member == new.new);
                session.is_some_and(|session| session.said.contains(&(new.id.clone(), said)))
            };
            let is_ready = matches!(new.phase, Phase::Ready | Phase::Complete);
            if (is_ready && !spoke(Said::Ready)) || (new.taken.is_some() && !spoke(Said::Taken)) {
                self.breaks(Invariant::AckIdentity);
            }
        }
    }

    /// A registration names the session that was opened last under the name, or none comes back.
    fn check_sessions(&mut self, before: &Scene) {
        let comes_back = self.sessions.iter().any(|session| {
            let presence = |scene: &Scene| scene.state.presence(&session.member);
            presence(before) == Presence::Gone
                && matches!(presence(&self.now), Presence::Here | Presence::Ending)
        });
        if comes_back {
            self.breaks(Invariant::Finality);
        }
    }

    /// Ends a lease.
    pub(crate) fn end_lease(&mut self, lease: LeaseId) {
        let records = self.now.shelf.records().filter(|record| record.lease == lease);
        let ops: Vec<Op> = records.map(|record| Op::delete(record.key.clone())).collect();
        self.apply(&Txn::guarded(Vec::new(), ops));
    }

    /// Whether the registration of a session is there, readable or not.
    pub(crate) fn is_registered(&self, session: &Session) -> bool {
        matches!(self.now.state.presence(&session.member), Presence::Here | Presence::Unknown)
            && self.registered_lease(session) == Some(session.lease)
    }

    pub(crate) fn registered_lease(&self, session: &Session) -> Option<LeaseId> {
        let key = self.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
        self.now.shelf.get(&key).map(|record| record.lease)
    }

    /// Whether a live session of the store's own account works on `at`.
    pub(crate) fn workers(&self, at: &TopicPartition) -> usize {
        self.sessions.iter().filter(|session| session.alive && session.works.contains(at)).count()
    }

    /// Notes the death of a session: where it was the one to work, the gap that follows is excused.
    pub(crate) fn note_death(&mut self, dead: usize) {
        let session = &self.sessions[dead];
        for at in self.partitions().collect::<Vec<_>>() {
            let handoff =
                self.now.state.handoff(&at).filter(|h| h.phase == Phase::Complete && h.taken.is_none());
            let named = self.now.state.assignment(&at).and_then(|a| a.owner.as_ref());
            let is_owner = named.is_some_and(|owner| owner.is(&session.member));
            let holds = match handoff {
                // The old owner goes on until the new one works.
                Some(handoff) if self.lives(&handoff.old) => handoff.old == session.member,
                _ => is_owner,
            };
            if holds {
                self.excused.insert(at);
            }
        }
    }

    /// Whether the session that the assignment names is there.
    pub(crate) fn owner_lives(&self, at: &TopicPartition) -> bool {
        let owner = self.now.state.assignment(at).and_then(|assignment| assignment.owner.as_ref());
        owner.is_some_and(|owner| self.lives(&owner.member()))
    }

    fn lives(&self, member: &Member) -> bool {
        self.sessions.iter().any(|s| s.member == *member && s.is_active() && self.is_registered(s))
    }

    /// Whoever works by the very grant that the assignment records ends the excuse.
    pub(crate) fn settle_excuses(&mut self) {
        let excused = self.excused.iter().filter(|at| !self.is_worked_on_by_its_owner(at)).cloned().collect();
        self.excused = excused;
    }

    fn is_worked_on_by_its_owner(&self, at: &TopicPartition) -> bool {
        let Some(assignment) = self.now.state.assignment(at) else { return false };
        let is_told = |session: &Session| matches!(session.roles.get(at), Some(Role::Owner { epoch, .. }) if *epoch == assignment.epoch);
        let is_owner = |session: &Session| assignment.owner.as_ref().is_some_and(|o| o.is(&session.member));
        let is_here = |session: &Session| session.alive && self.is_registered(session);
        self.sessions.iter().any(|s| is_here(s) && s.works.contains(at) && is_owner(s) && is_told(s))
    }
}
