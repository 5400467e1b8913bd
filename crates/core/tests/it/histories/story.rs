//! A history of a group: each event, and what must hold after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Capability, GroupConfig, Handoff, Phase, Taken, Topic, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::stops;
use kafka_assigner_core::test_group::TestGroup;
use kafka_assigner_core::view::{ConsumerView, Role};
use kafka_assigner_types::id::{Member, Offset, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::mode::Mode;

use super::event::{Event, NAMES, ROUTERS, TOPICS};
use super::same;

/// A group in the middle of its history, with what was told to each session so far.
pub(crate) struct Story {
    pub(crate) group: TestGroup,
    config: GroupConfig,
    pub(super) spoiled: BTreeMap<TopicPartition, bytes::Bytes>,
    marks: Vec<LeaseId>,
    told: BTreeMap<Member, ConsumerView>,
    /// The view that was last shown to sessions that lost their registration and did not say that they stopped.
    zombies: Vec<Zombie>,
    leases: BTreeMap<Member, LeaseId>,
}

/// A session that may not know that it is over.
struct Zombie {
    member: Member,
    lease: LeaseId,
    works_on: BTreeSet<TopicPartition>,
}

impl Story {
    pub(crate) fn new() -> Self {
        let config = GroupConfig { phase_deadline_ms: 30_000, ..GroupConfig::default() };
        let group = TestGroup::with_topics(&[("t", 3), ("u", 2)]);
        Self {
            group,
            config,
            spoiled: BTreeMap::new(),
            marks: Vec::new(),
            told: BTreeMap::new(),
            zombies: Vec::new(),
            leases: BTreeMap::new(),
        }
    }

    /// The same, in `routed` from the beginning.
    pub(super) fn routed() -> Self {
        let mut story = Self::new();
        story.happen(&Event::Mode(Mode::Routed));
        story
    }

    fn session(&self, who: usize) -> Option<Member> {
        self.group.members().into_iter().find(|member| member.name.as_str() == NAMES[who])
    }

    pub(crate) fn happen(&mut self, event: &Event) {
        let held = self.held();
        self.happens(event);
        self.check_held(&held);
        self.tell();
    }

    /// The owners of the partitions that are granted to nobody, since two of them stopped before the same record.
    fn held(&self) -> BTreeMap<TopicPartition, Option<Member>> {
        let state = &self.group.state;
        let is_held = |at: &&TopicPartition| stops::held(state, std::slice::from_ref(*at)).is_some();
        state.assignments().keys().filter(is_held).map(|at| (at.clone(), state.owner(at))).collect()
    }

    /// Nobody gained one of them. One without its topic is forgotten.
    fn check_held(&self, before: &BTreeMap<TopicPartition, Option<Member>>) {
        for (at, owner) in before {
            let now = self.group.state.owner(at);
            assert!(now.is_none() || now == *owner, "{at} went from {owner:?} to {now:?}");
            let moves =
                self.group.state.handoff_of(at).is_some_and(|handoff| handoff.phase == Phase::CatchingUp);
            assert!(!moves, "{at} is caught up on");
        }
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Join { who, only, most, rests } => {
                self.group.join_as(NAMES[*who], |consumer| {
                    consumer.capabilities.extend(rests.then_some(Capability::Rest));
                    consumer.topics = only.iter().map(|topic| TOPICS[*topic].parse().unwrap()).collect();
                    consumer.max_partitions = *most;
                });
            }
            Event::Crash(who) => {
                if self.session(*who).is_some() {
                    self.group.crash(NAMES[*who]);
                }
            }
            Event::Leave(who) => self.leave(*who, &Leaving::Now),
            Event::Drain(who) => self.leave(*who, &Leaving::Drain),
            Event::Restart(who) => {
                let mark = self.session(*who).map(|member| self.group.restart(&member));
                self.marks.extend(mark);
            }
            Event::Topic { which, partitions, in_set: true } => {
                self.group.topic_in_set(TOPICS[*which], *partitions, "s");
            }
            Event::Topic { which, partitions, in_set: false } => {
                self.group.topic(TOPICS[*which], *partitions);
            }
            Event::NoTopic(which) => self.group.remove(&Key::Topic(TOPICS[*which].parse().unwrap())),
            Event::Say { who, what, at } => self.say(*who, *what, *at),
            Event::Budget(most) => {
                self.config.max_moves_in_flight = *most;
                self.group.configure(&self.config);
            }
            Event::Grace(grace) => {
                self.config.rejoin_grace_ms = *grace;
                self.group.configure(&self.config);
            }
            Event::Mode(mode) => {
                self.config.mode = *mode;
                self.group.configure(&self.config);
            }
            Event::CatchUp(catch_up) => {
                self.config.catch_up = *catch_up;
                self.group.configure(&self.config);
            }
            Event::TopicMode { which, mode } => self.topic_mode(*which, *mode),
            Event::Route(who) => drop(self.group.route_as(ROUTERS[*who])),
            Event::NoRoute(who) => self.group.remove(&Key::Router(ROUTERS[*who].parse().unwrap())),
            Event::Freeze { who, at } => self.freeze(*who, *at),
            Event::End(who) => self.end(*who),
            Event::Stop { who, stands, offset } => self.stop(*who, *stands, *offset),
            Event::Resume { at, skip } => {
                let at = self.group.state.assignments().keys().nth(*at).cloned();
                at.map(|at| self.group.resume(&at, *skip));
            }
            Event::Spoil(at) => self.spoil(*at),
            Event::Mend => self.mend(),
            Event::Later(seconds) => self.group.later(Duration::from_secs(*seconds)),
            Event::Pass => drop(self.pass()),
            Event::NewLeader => self.group.change_leader(),
        }
    }

    /// Everybody does what is asked of them, and so was told of it.
    pub(crate) fn act(&mut self) {
        self.group.everybody_acts();
        self.tell();
    }

    fn topic_mode(&mut self, which: usize, mode: Option<Mode>) {
        let key = Key::Topic(TOPICS[which].parse().unwrap());
        if self.group.state.topics().contains_key(TOPICS[which]) {
            let topic = Topic { mode, ..self.group.stored::<Topic>(&key) };
            self.group.put(&key, encode(&topic));
        }
    }

    fn freeze(&mut self, who: usize, at: usize) {
        let at = self.group.state.handoffs().keys().nth(at).cloned();
        let router = self.group.state.routers().get(ROUTERS[who]).and_then(|entry| entry.readable());
        if let (Some(at), Some(router)) = (at, router) {
            let name = ROUTERS[who].parse().unwrap();
            let router = Member { name, incarnation: router.incarnation.clone() };
            if let Some(id) = self.group.state.handoff_of(&at).map(|handoff| handoff.id.clone()) {
                self.group.freeze(&router, &at, &id);
            }
        }
    }

    /// A session is ended by force; it does not know yet.
    fn end(&mut self, who: usize) {
        let write = self.session(who).and_then(|member| {
            kafka_assigner_core::session::end(&self.group.state, &member, FenceReason::NoProgress)
        });
        write.map(|write| self.group.apply(&write.unfenced()));
    }

    fn stop(&mut self, who: usize, stands: u8, offset: i64) {
        let Some(member) = self.session(who) else { return };
        let is_named = |at: &&TopicPartition| stands & (1 << (at.partition % 8)) > 0;
        let owned = self.group.state.owned(&member).filter(is_named);
        let stopped: Vec<_> = owned.map(|at| (at.clone(), offset)).collect();
        self.group.report_stopped(&member, &stopped);
    }

    fn leave(&mut self, who: usize, leaving: &Leaving) {
        if let Some(member) = self.session(who) {
            self.group.leave(&member, leaving);
        }
    }

    fn say(&mut self, who: usize, what: usize, at: usize) {
        let ack = [
            Ack::Ready,
            Ack::Taken(Taken::default()),
            Ack::Released { last_at: None },
            Ack::WarmFailed { reason: "no".to_owned() },
            Ack::Drained(Drained { offset: Offset::new(1).ok(), last_at: None }),
            Ack::CaughtUp,
            Ack::Rested,
        ][what]
            .clone();
        let at = self.group.state.assignments().keys().nth(at).cloned();
        if let (Some(member), Some(at)) = (self.session(who), at) {
            // In the strict modes a handoff has to be named.
            let handoff = self.group.state.handoff_of(&at).filter(|handoff| handoff.mode.is_strict());
            let id = handoff.map(|handoff| handoff.id.clone());
            self.group.say(&member, &at, id.as_ref(), &ack);
        }
    }

    /// A record of a partition breaks; its value is kept to mend it, since nobody writes it meanwhile.
    fn spoil(&mut self, at: usize) {
        let Some(at) = self.group.state.assignments().keys().nth(at).cloned() else { return };
        let key = Key::Assignment(at.clone());
        let value = self.group.store.get(&self.group.state.layout().encode(&key)).unwrap().value.clone();
        self.spoiled.entry(at).or_insert(value);
        self.group.put(&key, "{");
    }

    pub(crate) fn mend(&mut self) {
        for (at, value) in std::mem::take(&mut self.spoiled) {
            self.group.put(&Key::Assignment(at), value);
        }
    }

    /// The handoffs whose old owners are here, know how to rest, and have not said that they do.
    fn unrested(&self) -> Vec<Handoff> {
        let state = &self.group.state;
        let awaits = |handoff: &&Handoff| {
            let registered = state.registration_of(&handoff.old);
            let can_rest = registered.is_some_and(|c| c.capabilities.contains(&Capability::Rest));
            handoff.phase == Phase::Ready && can_rest && !handoff.old_has_said_all()
        };
        let handoffs = state.handoffs().keys().filter_map(|at| state.handoff(at));
        handoffs.filter(awaits).cloned().collect()
    }

    /// Requests are held back of nothing whose old owner may have a record in the works.
    fn check_rests(&self, before: &[Handoff]) {
        for handoff in before {
            let now = self.group.state.handoff(handoff.lead()).filter(|now| now.id == handoff.id);
            assert!(now.is_none_or(|now| now.phase != Phase::Freezing), "{handoff:?} did not wait");
        }
    }

    /// One pass; every write of it carries the fence of the leader.
    fn pass(&mut self) -> usize {
        let unrested = self.unrested();
        for action in self.group.plan().actions.iter().chain(&self.group.steps()) {
            assert!(!action.write.guards.is_empty(), "{action:?}");
            let is_spoiled = |at: &TopicPartition| self.spoiled.contains_key(at);
            assert!(!action.unit.iter().any(is_spoiled), "{action:?} of what can't be read");
        }
        let done = self.group.pass().len();
        self.check_rests(&unrested);
        done
    }

    /// The knowledge of each member follows the group by differences; it must be what a snapshot would show.
    fn tell(&mut self) {
        self.bury();
        let group = &self.group;
        self.told.retain(|member, _| group.members().contains(member));
        for member in group.members() {
            let next = group.view(&member);
            let told = self.told.remove(&member).unwrap_or_default();
            let difference = told.difference(&next);
            let mut roles = told.roles.clone();
            difference.ended.keys().for_each(|at| drop(roles.remove(at)));
            roles.extend(difference.roles.clone());
            let followed = told.followed_by(next.clone());
            assert!(same(&roles, &followed.roles), "{roles:?}\n{:?}", followed.roles);
            assert!(followed.difference(&next).is_empty(), "told twice");
            let decided = |(at, _): &(&TopicPartition, &Role)| !next.undecided.contains(*at);
            assert!(followed.roles.iter().filter(decided).eq(&next.roles));
            self.told.insert(member, followed);
        }
        self.check_single_holder();
    }

    /// Sessions that are not registered any more, and did not leave, may work on until their claim is over.
    fn bury(&mut self) {
        let members = self.group.members();
        for (member, view) in self.told.iter().filter(|(member, _)| !members.contains(member)) {
            let works_on =
                view.roles.iter().filter(|(_, role)| is_strict_owner(role)).map(|(at, _)| at.clone());
            let lease = self.leases.get(member).copied();
            self.zombies.extend(lease.map(|lease| Zombie {
                member: member.clone(),
                lease,
                works_on: works_on.collect(),
            }));
        }
        for member in &members {
            let registration = self.group.state.registration(&member.name).unwrap();
            self.leases.insert(member.clone(), registration.lease);
        }
        let group = &self.group;
        let may_act =
            |zombie: &Zombie| group.age_of(zombie.lease).is_some_and(|age| age < Duration::from_secs(20));
        self.zombies.retain(may_act);
    }

    /// I1: nobody is shown to own in a strict mode what another one may still act on.
    fn check_single_holder(&self) {
        let mut holders: BTreeMap<TopicPartition, &Member> = BTreeMap::new();
        for zombie in &self.zombies {
            holders.extend(zombie.works_on.iter().map(|at| (at.clone(), &zombie.member)));
        }
        for (member, view) in &self.told {
            for (at, _) in view.roles.iter().filter(|(_, role)| is_strict_owner(role)) {
                let other = holders.insert(at.clone(), member);
                assert!(other.is_none(), "{at} is held by {other:?} and by {member}");
            }
        }
    }

    pub(super) fn come_to_rest(&mut self) {
        self.mend();
        let partitions: Vec<_> = self.group.state.assignments().keys().cloned().collect();
        for at in &partitions {
            self.group.resume(at, false);
        }
        std::mem::take(&mut self.marks).into_iter().for_each(|mark| self.group.end_lease(mark));
        // Members that were passed over, or are awaited, no longer are.
        self.group.later(Duration::from_secs(3_600));
        self.group.settle();
        self.tell();
    }
}

fn is_strict_owner(role: &Role) -> bool {
    matches!(role, Role::Owner { mode, .. } if mode.is_strict())
}
