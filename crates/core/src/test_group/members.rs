//! The members of a [`TestGroup`]: they join, answer and leave.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::TestGroup;
use crate::ack::{self, Ack, Drained, Judged, MemberAck, Verdict};
use crate::begun::{self, StreamReach, ToldGrants};
use crate::failing::{self, ToldFailures};
use crate::key::Key;
use crate::record::{
    Assignment, Capability, Consumer, DeathSign, Extra, Progress, RecordFailure, Renewal, Router, Suspicion,
    Taken, UnbegunGrant, UnbegunReason, encode,
};
use crate::route::{Route, route};
use crate::session::{self, Leaving};
use crate::stops::{self, Resumption, StopReport};
use crate::suspicion::unmark;
use crate::view::{ConsumerView, Role, consumer_view};
use crate::write::{Write, chunk_unfenced};
use kafka_assigner_types::id::{HandoffId, Incarnation, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Op, Txn};
use kafka_assigner_types::moment::WallMillis;

fn recording(judged: &Judged) -> Option<&Write> {
    if let Verdict::Record { write, .. } = &judged.verdict { Some(write) } else { None }
}

impl TestGroup {
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
        let takes_over = self.state.registration(&member.name).map(|registered| registered.lease);
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

    /// The router's ack of a handoff, recorded where it counts.
    pub fn freeze(&mut self, router: &Member, at: &TopicPartition, id: &HandoffId) -> Verdict {
        self.say(router, at, Some(id), &Ack::Frozen)
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
        let changes = self.store.end_lease(lease);
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
        let changes = self.store.end_lease(lease);
        self.take_in(&changes);
    }

    /// The member's ack, recorded where it counts.
    ///
    /// # Panics
    /// Where a judgement on the newest state does not apply.
    pub fn say(
        &mut self,
        member: &Member,
        at: &TopicPartition,
        id: Option<&HandoffId>,
        ack: &Ack,
    ) -> Verdict {
        let ack = MemberAck { at: at.clone(), handoff: id.cloned(), ack: ack.clone() };
        let verdict = ack::judge(&self.state, member, &ack, WallMillis(0));
        if let Verdict::Record { write, .. } = &verdict {
            assert!(self.apply(&write.clone().unfenced()), "a judgement on the newest state applies");
        }
        verdict
    }

    /// The member's acks of one call, recorded as an instance does: judged together on one state, and written in
    /// chunks. What they leave to be judged again is; returns how many transactions that took.
    ///
    /// # Panics
    /// Where a judgement on the newest state does not apply.
    pub fn say_all(&mut self, member: &Member, acks: &[MemberAck]) -> usize {
        let (mut open, mut transactions) = (acks.to_vec(), 0);
        while !open.is_empty() {
            let judged = ack::judge_all(&self.state, member, &open, WallMillis(0));
            let writes: Vec<Write> = judged.iter().filter_map(recording).cloned().collect();
            for chunk in chunk_unfenced(&writes, Limits::ETCD) {
                assert!(self.apply(&chunk.txn), "a judgement on the newest state applies");
                transactions += 1;
            }
            let done: BTreeSet<usize> = judged.into_iter().flat_map(|judged| judged.acks).collect();
            open =
                open.into_iter().enumerate().filter(|(n, _)| !done.contains(n)).map(|(_, ack)| ack).collect();
        }
        transactions
    }

    /// The member's instance writes down how far its warm-up of `at` is, beside what was written of others.
    ///
    /// # Panics
    /// If the member is not registered, or `at` does not move.
    pub fn report(&mut self, member: &Member, at: &TopicPartition, done: u64) {
        self.report_of(member, at, done, None);
    }

    /// [`report`](Self::report) with the end of the warm-up, where it is known.
    ///
    /// # Panics
    /// If the member is not registered, or `at` does not move.
    pub fn report_of(&mut self, member: &Member, at: &TopicPartition, done: u64, total: Option<u64>) {
        let handoff = self.state.handoff_of(at).expect("it moves").id.clone();
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        let mut progress = registration.progress.clone();
        progress
            .insert(at.to_string(), Progress { handoff, done, total, left_ms: None, extra: Extra::new() });
        self.rewrite(member, registration.lease, &Consumer { progress, ..(*registration).clone() });
    }

    /// The member's instance writes down that a record of `at` is in the works there, or nowhere any more.
    ///
    /// # Panics
    /// If the member is not registered, or `at` does not move.
    pub fn report_busy(&mut self, member: &Member, at: &TopicPartition, busy: bool) {
        let handoff = self.state.handoff_of(at).expect("it moves").id.clone();
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        let busy = if busy { BTreeMap::from([(at.to_string(), handoff)]) } else { BTreeMap::new() };
        self.rewrite(member, registration.lease, &Consumer { busy, ..(*registration).clone() });
    }

    /// The member's heartbeat names all of its partitions that stand, each before the record at an offset; an instance
    /// records what is news. Returns how many marks changed.
    ///
    /// # Panics
    /// A judgement on the newest state does not apply, or an offset is none.
    pub fn report_stopped(&mut self, member: &Member, stopped: &[(TopicPartition, i64)]) -> usize {
        let epoch = |at: &TopicPartition| self.state.assignment(at).map(Assignment::held_epoch);
        let report = |(at, offset): &(TopicPartition, i64)| StopReport {
            at: at.clone(),
            epoch: epoch(at).unwrap_or_default(),
            offset: Offset::new(*offset).expect("an offset"),
            reason: "it can't be read".to_owned(),
            is_of_drain: false,
        };
        let reports: Vec<StopReport> = stopped.iter().map(report).collect();
        let writes = stops::report(&self.state, member, &reports, WallMillis(0));
        for write in &writes {
            assert!(self.apply(&write.clone().unfenced()), "a judgement on the newest state applies");
        }
        writes.len()
    }

    /// The member's heartbeat names its grants that it has not begun, each with the reason and what is done of it; an instance
    /// records what is news. Returns whether anything is.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn report_unbegun(
        &mut self,
        member: &Member,
        named: &[(TopicPartition, UnbegunReason, u64)],
    ) -> bool {
        let grant = |(at, why, done): &(TopicPartition, UnbegunReason, u64)| {
            let epoch = self.state.assignment(at).map(Assignment::held_epoch).unwrap_or_default();
            let (why, message, extra) = (why.clone(), String::new(), Extra::new());
            (at.clone(), UnbegunGrant { epoch, why, message, done: *done, total: None, extra })
        };
        let named = named.iter().map(grant).collect();
        self.report_grants(
            member,
            ToldGrants { told: StreamReach::Everything, named, unnamed: 0, uncommitted: None },
        )
    }

    /// [`report_unbegun`](Self::report_unbegun) with all that a report can say.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn report_grants(&mut self, member: &Member, told: ToldGrants) -> bool {
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        let Some(report) = begun::news(&self.state, member, &registration, told) else { return false };
        let begun = Some(report);
        self.rewrite(member, registration.lease, &Consumer { begun, ..(*registration).clone() });
        true
    }

    /// The member's heartbeat names its partitions whose next record fails, each with the offset of the record, and says how many
    /// others there are; an instance records what is news. Returns whether anything is.
    ///
    /// # Panics
    /// If the member is not registered, or an offset is none.
    pub fn report_failing(&mut self, member: &Member, named: &[(TopicPartition, i64)], unnamed: u32) -> bool {
        let failure = |(at, offset): &(TopicPartition, i64)| {
            let epoch = self.state.assignment(at).map(Assignment::held_epoch).unwrap_or_default();
            let offset = Offset::new(*offset).expect("an offset");
            let (reason, since, extra) = ("no disk".to_owned(), WallMillis(7), Extra::new());
            (at.clone(), RecordFailure { epoch, offset, reason, since, extra })
        };
        let named = named.iter().map(failure).collect();
        self.report_failures(member, ToldFailures { named, unnamed })
    }

    /// [`report_failing`](Self::report_failing) with all that a report can say.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn report_failures(&mut self, member: &Member, told: ToldFailures) -> bool {
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        let Some(failing) = failing::news(&self.state, member, &registration, told) else { return false };
        self.rewrite(member, registration.lease, &Consumer { failing, ..(*registration).clone() });
        true
    }

    /// An operator resumes a partition; whether it stood.
    pub fn resume(&mut self, at: &TopicPartition, skip: bool) -> bool {
        match stops::resume(&self.state, at, skip) {
            Ok(Resumption { write, .. }) => write.is_none_or(|write| self.apply(&write.unfenced())),
            Err(_) => false,
        }
    }

    /// An instance marks the member as dead by its looks. From now on it renews nothing, having renewed until now.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn suspect(&mut self, member: &Member, sign: DeathSign) {
        let ttl_ms = self.state.registration(&member.name).expect("it is registered").ttl_ms;
        self.suspect_with_rest(member, sign, ttl_ms);
    }

    /// The same, where the instance found so many milliseconds left of the lease.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn suspect_with_rest(&mut self, member: &Member, sign: DeathSign, rest_ms: u64) {
        self.dealt += 1;
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        let mark = Suspicion {
            sign,
            by: "i".to_owned(),
            stream: self.dealt,
            rest_ms,
            since: WallMillis(0),
            extra: Extra::new(),
        };
        self.rewrite(
            member,
            registration.lease,
            &Consumer { suspected: Some(mark), ..(*registration).clone() },
        );
    }

    /// The member is heard: the mark goes before it is answered.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn hear(&mut self, member: &Member) {
        let registration = self.state.registration(&member.name).expect("it is registered").clone();
        self.rewrite(member, registration.lease, &Consumer { suspected: None, ..(*registration).clone() });
    }

    /// The member's heartbeat says that it has dropped all that it is fenced of; whether that was anything.
    ///
    /// # Panics
    /// If the member is not registered.
    pub fn drop_fenced(&mut self, member: &Member) -> bool {
        let registration = self.state.registration(&member.name).expect("it is registered");
        let partitions: Vec<TopicPartition> = self.state.assignments().keys().cloned().collect();
        let fenced = |at: &TopicPartition| Some((at.clone(), registration.fenced_epoch(at)?));
        let dropped: Vec<_> = partitions.iter().filter_map(fenced).collect();
        let key = self.state.layout().encode(&Key::Consumer(member.name.clone()));
        let lift = self.store.get(&key).and_then(|record| unmark::<Consumer>(record, &dropped));
        lift.is_some_and(|write| self.apply(&write.unfenced()))
    }

    fn rewrite(&mut self, member: &Member, lease: LeaseId, next: &Consumer) {
        let key = self.state.layout().encode(&Key::Consumer(member.name.clone()));
        let put = Op::put_leased(key, encode(next), lease);
        assert!(self.apply(&Txn::guarded(Vec::new(), vec![put])));
    }

    /// The command that the member should get.
    #[must_use]
    pub fn view(&self, member: &Member) -> ConsumerView {
        consumer_view(&self.state, member)
    }

    /// Everybody who is registered, in their sessions.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let session =
            |(name, entry): (&kafka_assigner_types::name::MemberName, &crate::state::Entry<Consumer>)| {
                let incarnation = entry.readable()?.incarnation.clone();
                Some(Member { name: name.clone(), incarnation })
            };
        self.state.consumers().iter().filter_map(session).collect()
    }

    /// Everybody says whatever their role has to say next; whether anybody did.
    pub fn everybody_acts(&mut self) -> bool {
        self.all_act_but(None)
    }

    /// Everybody but `dead`, who has died, says whatever their role has to say next; whether anybody did.
    pub fn others_act(&mut self, dead: &Member) -> bool {
        self.all_act_but(Some(dead))
    }

    fn all_act_but(&mut self, dead: Option<&Member>) -> bool {
        let mut acted = false;
        for member in self.members().into_iter().filter(|member| dead != Some(member)) {
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
        let session =
            |(name, entry): (&kafka_assigner_types::name::MemberName, &crate::state::Entry<Router>)| {
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
            Role::Owner { resting: Some(handoff), .. } => (handoff, Ack::Rested),
            Role::Releasing { handoff, .. } => (handoff, Ack::Released { last_at: None }),
            Role::Owner { .. } => return false,
        };
        matches!(self.say(member, at, Some(id), &ack), Verdict::Record { .. })
    }
}
