//! Everything that there is in one state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_core::claim::{Leases, Remaining, doubtful};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{
    Capability, Consumer, GroupConfig, Handoff, LeaderRecord, Renewal, Source, Standing, Topic, encode,
};
use kafka_assigner_core::session::open;
use kafka_assigner_core::state::Presence;
use kafka_assigner_core::test_group::tp;
use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::id::{Epoch, HandoffId, Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::{Lease, LeaseId, Op, Revision, Txn};
use kafka_assigner_types::moment::{WallMillis, millis};

use crate::bounds::Bounds;
use crate::log::{Flight, Log};
use crate::property::Invariant;
use crate::router::{Request, Router};
use crate::scene::{Quiet, Scene};
use crate::session::{Life, Said, Session};
use crate::topic::topic_id;

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
    /// All sessions of routers there ever were.
    pub routers: Vec<Router>,
    /// What is worked on; empty where nothing but `overlap` occurs.
    pub logs: BTreeMap<TopicPartition, Log>,
    /// A request that waits.
    pub request: Option<Request>,
    /// What is under way to a log.
    pub flight: Option<Flight>,
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
    /// True if the owner changes without the words of the phases in between, see [`crate::Variant::ThreePhases`].
    pub has_three_phases: bool,
    /// True if clients can be fenced of single partitions.
    pub knows_fences: bool,
    /// The outage grace of every session, in milliseconds; 0 where none is played.
    pub outage_grace_ms: u64,
    /// The last freeze that a router kept from ending, as it stood and as it was called off, and how many there were.
    pub missed: Option<(Arc<Scene>, Arc<Scene>, u8)>,
    /// True if sessions are ended without regard to their marks, see [`crate::Variant::EndsAndGrants`].
    pub has_blind_ends: bool,
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

/// The time to live of every lease.
const TTL: Duration = Duration::from_secs(30);

/// The topics of a set, as many as there are partitions.
const SET: [&str; 2] = ["t", "u"];

fn topics(bounds: Bounds) -> impl Iterator<Item = (&'static str, Topic)> {
    let (count, partitions) = if bounds.is_set { (bounds.partitions, 1) } else { (1, bounds.partitions) };
    let copartition = bounds.is_set.then(|| "set".to_owned());
    let topic_id = topic_id(0).map(|id| id.to_string());
    let topic = Topic { copartition, topic_id, ..Topic::new(partitions, Source::Kafka) };
    let names = SET.get(..count as usize).expect("a set has two topics at most");
    names.iter().map(move |name| (*name, topic.clone()))
}

fn partitions(bounds: Bounds) -> impl Iterator<Item = TopicPartition> {
    topics(bounds).flat_map(|(name, topic)| (0..topic.partitions).map(move |number| tp(name, number)))
}

/// The name of a consumer by its number.
pub(crate) fn name(number: u8) -> String {
    char::from(b'a' + number).to_string()
}

/// A lease by its number.
pub(crate) fn lease(number: usize) -> Lease {
    Lease { id: LeaseId(i64::try_from(number).expect("few sessions") + 1), ttl: TTL }
}

/// The registration of a client that can do everything.
pub(crate) fn registration(incarnation: Incarnation, outage_grace_ms: u64, knows_fences: bool) -> Consumer {
    let consumer = Consumer::new(incarnation, 30_000, Renewal::Client, WallMillis(0));
    let consumer = Consumer { outage_grace_ms, ..consumer };
    let all = [Capability::Taken, Capability::Drain, Capability::CatchUp, Capability::Rest];
    let capabilities = all.into_iter().chain(knows_fences.then_some(Capability::Fence)).collect();
    Consumer { capabilities, ..consumer }
}

impl World {
    /// The first consumer and the first routers are registered; nothing is assigned yet.
    #[must_use]
    pub fn begin(bounds: Bounds) -> Self {
        let scene = Self::first_scene(bounds);
        let term = scene.revision();
        let now = Arc::new(scene);
        let partitions: BTreeSet<_> = partitions(bounds).collect();
        let has_logs = bounds.mode.is_strict() || bounds.switches > 0;
        let logs = partitions.iter().filter(|_| has_logs).map(|at| (at.clone(), Log::default())).collect();
        let mut world = Self {
            views: vec![Arc::clone(&now); usize::from(bounds.instances)],
            now,
            terms: [Some(term), None],
            sessions: Vec::new(),
            routers: Vec::new(),
            logs,
            request: None,
            flight: None,
            stray: None,
            limbo: None,
            spoiled: None,
            left: bounds,
            excused: partitions,
            has_three_phases: false,
            has_blind_ends: false,
            knows_fences: bounds.fences > 0,
            outage_grace_ms: if bounds.graces > 0 { millis(LONGEST_OUTAGE_GRACE) } else { 0 },
            missed: None,
            broken: None,
        };
        world.register(0, false);
        (0..bounds.routers).for_each(|number| world.register_router(number, number < bounds.stuck));
        world.views.fill(Arc::clone(&world.now));
        world
    }

    fn first_scene(bounds: Bounds) -> Scene {
        let scene = Scene::default();
        let layout = scene.state.layout().clone();
        let leader = encode(&LeaderRecord::new("0".to_owned(), String::new(), WallMillis(0)));
        let config = GroupConfig {
            mode: bounds.mode,
            catch_up: bounds.catch_up,
            wait_out_revocations: bounds.waits_out,
            ..GroupConfig::default()
        };
        let topics = topics(bounds).map(|(name, topic)| {
            Op::put(layout.encode(&Key::Topic(name.parse().expect("a valid name"))), encode(&topic))
        });
        let others = [
            Op::put(layout.encode(&Key::GroupConfig), encode(&config)),
            Op::put(layout.encode(&Key::Leader), leader),
        ];
        scene.written(topics.chain(others).collect())
    }

    /// True if the modes that promise a single owner occur.
    pub(crate) fn is_strict(&self) -> bool {
        !self.logs.is_empty()
    }

    /// All partitions.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = TopicPartition> + use<> {
        partitions(self.left)
    }

    /// True if somebody is there who takes what others drain.
    pub(crate) fn has_taker(&self) -> bool {
        let takes =
            |name: &_| self.now.state.registration(name).is_some_and(|c| c.standing == Standing::Active);
        self.now.state.consumers().keys().any(takes)
    }

    /// The registration of a client of this world.
    pub(crate) fn registration(&self, incarnation: Incarnation) -> Consumer {
        registration(incarnation, self.outage_grace_ms, self.knows_fences)
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
        let lease = lease(serial);
        let takes_over = self.now.state.registration(&member.name).map(|registered| registered.lease);
        let write =
            open(self.now.state.layout(), &member.name, &self.registration(incarnation), lease, takes_over);
        self.apply(&write.unfenced());
        self.sessions.push(Session {
            member,
            lease: lease.id,
            life: Life::Fresh,
            claim: true,
            stale_life: Life::Fresh,
            has_grace: false,
            is_beating: false,
            is_heard: true,
            alive: true,
            fenced: false,
            instance: usize::from(number) % self.views.len(),
            seen: self.now.revision(),
            roles: BTreeMap::new(),
            topics: BTreeMap::new(),
            works: BTreeSet::new(),
            in_works: BTreeSet::new(),
            holds: BTreeMap::new(),
            fences: BTreeMap::new(),
            said: BTreeSet::new(),
        });
    }

    /// An instance takes over what the store says now, with the answers about leases that it has: who was seen to be
    /// gone stays gone.
    pub(crate) fn look(&mut self, instance: usize) {
        let doubtful = doubtful(&self.now.state, self.now.state.assignments().keys());
        let known = &self.views[instance].leases;
        let said = doubtful.keys().filter_map(|lease| Some((*lease, known.remaining(*lease)?)));
        let leases: Leases = said.collect();
        let known = self.views[instance].quiet;
        let quiet = if self.has_the_same_grants(instance) { known } else { Quiet::No };
        self.views[instance] = match leases == Leases::default() && quiet == Quiet::No {
            true => Arc::clone(&self.now),
            false => Arc::new(self.now.answered(leases, BTreeSet::new(), quiet)),
        };
        self.remind(instance);
    }

    /// Lets an instance remember the freezes that a router kept from ending.
    pub(crate) fn remind(&mut self, instance: usize) {
        if let Some((froze, cancelled, times)) = self.missed.clone() {
            self.views[instance] = Arc::new(self.views[instance].remembering((&froze, &cancelled), times));
        }
    }

    /// True if the partitions are granted as the instance knows.
    fn has_the_same_grants(&self, instance: usize) -> bool {
        let (known, now) = (&self.views[instance].state, &self.now.state);
        known.assignments() == now.assignments() && known.handoffs() == now.handoffs()
    }

    /// What the store says of a lease.
    pub(crate) fn remaining(&self, lease: LeaseId) -> Remaining {
        let life = self.sessions.iter().find(|session| session.lease == lease).map(|session| session.life);
        match life {
            Some(Life::Fresh) => Remaining::Left(TTL),
            Some(Life::Third) => Remaining::Left(TTL / 3),
            Some(Life::Gone) | None => Remaining::Gone,
        }
    }

    /// The same by the account of a leader of the store that was deposed by then, which knows of no heartbeat since.
    pub(crate) fn stale_remaining(&self, lease: LeaseId) -> Remaining {
        let life = self.sessions.iter().find(|session| session.lease == lease);
        match (life.map(|session| session.stale_life), self.remaining(lease)) {
            (Some(Life::Third), Remaining::Left(_)) => Remaining::Left(TTL / 3),
            (_, told) => told,
        }
    }

    /// Carries out a transaction, and holds what it changed against what must hold; whether it applied.
    pub(crate) fn apply(&mut self, txn: &Txn) -> bool {
        let Some(next) = self.now.after(txn) else { return false };
        let before = std::mem::replace(&mut self.now, Arc::new(next));
        self.check(&before);
        true
    }

    pub(crate) fn breaks(&mut self, invariant: Invariant) {
        self.broken.get_or_insert(invariant);
    }

    /// Ends a lease.
    pub(crate) fn end_lease(&mut self, lease: LeaseId) {
        let records = self.now.shelf.records().filter(|record| record.lease == lease);
        let ops: Vec<Op> = records.map(|record| Op::delete(record.key.clone())).collect();
        self.apply(&Txn::guarded(Vec::new(), ops));
    }

    /// True if the registration of a session is there, readable or not.
    pub(crate) fn is_registered(&self, session: &Session) -> bool {
        matches!(self.now.state.presence(&session.member), Presence::Here | Presence::Unknown)
            && self.registered_lease(session) == Some(session.lease)
    }

    pub(crate) fn registered_lease(&self, session: &Session) -> Option<LeaseId> {
        let key = self.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
        self.now.shelf.get(&key).map(|record| record.lease)
    }

    /// True if the registration of the session is marked as that of a dead process.
    pub(crate) fn is_suspected(&self, session: &Session) -> bool {
        self.now.state.suspicion(&session.member).is_some()
    }

    /// The partitions that the registration of a session says it is fenced of, each up to an epoch.
    pub(crate) fn fences_of(&self, session: &Session) -> BTreeMap<TopicPartition, Epoch> {
        let registration = self.now.state.registration_of(&session.member);
        let fence = |at: TopicPartition| Some((at.clone(), registration?.fenced_epoch(&at)?));
        self.partitions().filter_map(fence).collect()
    }

    /// True if a session has to hear of a fence, or its word about one to be heard.
    pub(crate) fn is_fenced_of_any(&self, session: &Session) -> bool {
        self.knows_fences && !self.fences_of(session).is_empty()
    }

    /// True if a session has not heard yet that it was fenced.
    pub(crate) fn has_unheard_fence(&self, session: &Session) -> bool {
        self.knows_fences && self.fences_of(session).iter().any(|(at, epoch)| !session.has_heard(at, *epoch))
    }

    /// True if the old owner of `handoff`, which was fenced, may still act: it was confirmed within its time to live, and not
    /// told.
    pub(crate) fn may_act_on_fenced(&self, handoff: &Handoff) -> bool {
        let may_act = |s: &&Session| s.member == handoff.old && s.is_active() && s.claim;
        self.sessions.iter().filter(may_act).any(|session| self.has_unheard_fence(session))
    }

    /// The number of live sessions, by the store's own account, that work on `at`.
    pub(crate) fn workers(&self, at: &TopicPartition) -> usize {
        self.sessions.iter().filter(|session| session.alive && session.works.contains(at)).count()
    }
}
