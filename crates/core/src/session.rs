//! Sessions of consumers and routers: who may register, who is still registered, and how a session ends.

mod registration;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use registration::Registration;

use crate::draft::Draft;
use crate::facts::may_have;
use crate::key::Key;
use crate::reason::FenceReason;
use crate::record::{Consumer, DeathSign, Rejoin, Standing, decode, encode};
use crate::state::{Entry, GroupState, Versioned};
use crate::stops::held;
use crate::write::Write;
use crate::{advance, key};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::{Compare, Lease, LeaseId, Must, Op, Record};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::{MemberName, TopicName};

/// The request of a Register call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A session that does not exist yet.
    New,
    /// Another stream for a session that was granted this lease.
    Resume(LeaseId),
}

/// The answer to a Register, decided on the registration as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Write the registration, under a lease that was granted for it, where the key is as it was read.
    Create {
        /// The lease of the session under the same name that was read, which the new one takes over.
        takes_over: Option<LeaseId>,
    },
    /// The session exists: keep its lease alive and attach the stream.
    Attach,
    /// The session is over; this is final.
    Fenced(FenceReason),
}

/// Decides about a Register of a consumer or a router.
///
/// Only the opening of a session writes a registration. Whoever resumes and does not find its own is fenced,
/// and so is whoever opens a session that was opened before (a repeated call): "gone" stays final for an
/// incarnation, and no incarnation gets a second lease.
#[must_use]
pub fn admit<R: Registration>(
    registered: Option<&Record>,
    incarnation: &Incarnation,
    opening: &Opening,
) -> Admission {
    match (opening, registered) {
        (Opening::New, None) => Admission::Create { takes_over: None },
        (Opening::New, Some(record)) if names::<R>(record, incarnation) => {
            Admission::Fenced(FenceReason::Superseded)
        }
        (Opening::New, Some(record)) => Admission::Create { takes_over: Some(record.lease) },
        (Opening::Resume(lease), registered) => match check::<R>(registered, incarnation, *lease) {
            Ok(_) => Admission::Attach,
            Err(reason) => Admission::Fenced(reason),
        },
    }
}

fn names<R: Registration>(record: &Record, incarnation: &Incarnation) -> bool {
    decode::<R>(&record.value).is_ok_and(|registration| registration.incarnation() == incarnation)
}

/// Checks that a registration still is that of the session `incarnation` under `lease`.
///
/// # Errors
/// Why the session is over. A registration that can't be read is not called over: its lease tells.
pub fn check<R: Registration>(
    registered: Option<&Record>,
    incarnation: &Incarnation,
    lease: LeaseId,
) -> Result<Option<R>, FenceReason> {
    let record = registered.ok_or(FenceReason::Gone)?;
    if record.lease != lease {
        return Err(FenceReason::Superseded);
    }
    let Ok(registration) = decode::<R>(&record.value) else { return Ok(None) };
    if registration.incarnation() != incarnation {
        return Err(FenceReason::Superseded);
    }
    registration.ending().map_or(Ok(Some(registration)), Err)
}

/// The reason why the session of `member` is over, where the view shows that it is. A registration that can't be read is there.
#[must_use]
pub fn over<R: Registration>(state: &GroupState, member: &Member) -> Option<FenceReason> {
    match R::registered(state).get(&member.name) {
        None => Some(FenceReason::Gone),
        Some(Entry::Unreadable(_)) => None,
        Some(Entry::Readable(found)) if *found.incarnation() != member.incarnation => {
            Some(FenceReason::Superseded)
        }
        Some(Entry::Readable(found)) => found.ending(),
    }
}

/// The write that opens a session: the registration under its lease, in the place of the session that was read, if any.
/// That one may have changed meanwhile, by a report or a suspicion: it is the same session as long as it has that lease. A
/// mark that a session left behind stays: it tells that this one has stopped.
#[must_use]
pub fn open<R: Registration>(
    layout: &key::Layout,
    name: &MemberName,
    registration: &R,
    lease: Lease,
    takes_over: Option<LeaseId>,
) -> Write {
    let at = layout.encode(&R::key(name));
    let must = takes_over.map_or(Must::BeAbsent, Must::HaveLease);
    Write {
        guards: vec![Compare::new(at.clone(), must)],
        ops: vec![Op::put_leased(at, encode(registration), lease.id)],
    }
}

/// The way in which a session ends when its consumer deregisters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// Hand everything over first.
    Drain,
    /// The consumer has stopped all work, which the end of its lease says.
    Now,
    /// The consumer has stopped all work, which is noted under this lease.
    Noted(Lease),
    /// The consumer has stopped all work and comes back; its partitions are kept under this lease.
    Restart(Lease),
}

/// The writes that let a member leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Farewell {
    /// The first write; `None` where the end of the lease is enough.
    pub write: Option<Write>,
    /// The session's lease where it is ended then, since its consumer has proven that it acts no more. The registration
    /// goes with it in one change: nobody ever sees the session over and has to wait for its claim.
    pub ends: Option<LeaseId>,
}

/// The writes that let `member` leave; `None` where its session is over already, and where one that is being ended by
/// force asks to drain first: that must not undo the end.
#[must_use]
pub fn leave(state: &GroupState, member: &Member, leaving: &Leaving, wall: WallMillis) -> Option<Farewell> {
    let Some(registration) = state.registration_of(member) else {
        return let_go(state, member, leaving, wall);
    };
    if *leaving == Leaving::Drain && registration.is_ending() {
        return None;
    }
    let ends = Some(registration.lease);
    Some(match leaving {
        Leaving::Drain if registration.standing == Standing::Draining => Farewell { write: None, ends: None },
        Leaving::Drain => {
            let next = Consumer { standing: Standing::Draining, ..(**registration).clone() };
            let draft = Draft::on(state).register(&member.name, registration.lease, &next);
            Farewell { write: Some(draft.into_write()), ends: None }
        }
        Leaving::Now => Farewell { write: None, ends },
        Leaving::Noted(lease) | Leaving::Restart(lease) => {
            let comes_back = matches!(leaving, Leaving::Restart(_));
            let write = marking(state, (member, registration), *lease, comes_back, wall);
            Farewell { write: Some(write), ends }
        }
    })
}

/// True if `member` owns something and no consumer that takes partitions may have any of it, so that a drain would end
/// with nobody. Limits and failures of the past do not enter into it, nor a connection that broke a moment ago: they may
/// change while it drains.
#[must_use]
pub fn nobody_takes(state: &GroupState, member: &Member) -> bool {
    let topics = moving_topics(state, member);
    let may_take = |at: &TopicPartition| {
        let unit = state.unit_of(at);
        let mode = state.mode_of(&unit);
        let others = state.consumers().keys().filter(|name| **name != member.name);
        let mut heard = others.filter(|name| !is_silent(state, name));
        heard.any(|name| may_have(state, name, &unit, mode))
    };
    state.owns_something(member) && !topics.into_values().any(may_take)
}

/// One partition of each topic of which `member` owns some that may move: nobody is granted a unit before a record of which
/// two owners stopped.
fn moving_topics<'s>(state: &'s GroupState, member: &Member) -> BTreeMap<&'s TopicName, &'s TopicPartition> {
    let is_held = |at: &&TopicPartition| held(state, std::slice::from_ref(*at)).is_some();
    let stays: BTreeSet<TopicPartition> =
        state.owned(member).filter(is_held).flat_map(|at| state.unit_of(at)).collect();
    state.owned(member).filter(|at| !stays.contains(*at)).map(|at| (&at.topic, at)).collect()
}

/// The writes that let `member` go, which drains and has nothing left; `None` where that is not so. Its registration goes
/// only if it is the one that `state` shows.
///
/// A grant that was decided before it began to drain may land until then, and none after that. So its lease is ended only
/// if a later state shows that it [has nothing](has_nothing); else it runs down, as the claim that it stands for.
#[must_use]
pub fn dismiss(state: &GroupState, member: &Member) -> Option<Farewell> {
    let registration = state.registration_of(member).filter(|r| r.standing == Standing::Draining)?;
    if !is_drained(state, member) {
        return None;
    }
    let key = Key::Consumer(member.name.clone());
    let mut draft = Draft::on(state).unchanged(&key);
    draft.delete(&key);
    Some(Farewell { write: Some(draft.into_write()), ends: Some(registration.lease) })
}

/// True if nothing is left that `member` may work on. A strict owner whose topic is gone has no role, and may not have heard of
/// that.
#[must_use]
pub fn has_nothing(state: &GroupState, member: &Member) -> bool {
    is_drained(state, member) && !state.owns_something(member)
}

/// True if `name` was not heard for a whole session, which is more than a connection that broke.
fn is_silent(state: &GroupState, name: &MemberName) -> bool {
    let mark = state.registration(name).and_then(|consumer| consumer.suspicion());
    mark.is_some_and(|mark| mark.sign == DeathSign::Silent)
}

/// A session that another one took over from says that it has stopped: who follows need not wait for its claim.
fn let_go(state: &GroupState, member: &Member, leaving: &Leaving, wall: WallMillis) -> Option<Farewell> {
    let (Leaving::Noted(lease) | Leaving::Restart(lease)) = leaving else { return None };
    let successor = state.registration(&member.name)?;
    let write = marking(state, (member, successor), *lease, false, wall);
    state.owns_something(member).then_some(Farewell { write: Some(write), ends: None })
}

/// The mark that `member` has stopped, guarded on the session that is registered under its name.
fn marking(
    state: &GroupState,
    (member, registered): (&Member, &Versioned<Consumer>),
    lease: Lease,
    comes_back: bool,
    wall: WallMillis,
) -> Write {
    let mut write = Draft::on(state).registered(&member.name, registered).into_write();
    let mark = Rejoin::new(member.incarnation.clone(), comes_back, wall);
    let at = state.layout().encode(&Key::Rejoin(member.name.clone()));
    write.ops.push(Op::put_leased(at, encode(&mark), lease.id));
    write
}

/// The time for which the mark of `member`, that it has stopped, has to be kept; `None` where it needs
/// none. It outlives every claim that could otherwise be thought to run, and, where the name comes back, the group's
/// grace for that.
#[must_use]
pub fn marked_for(state: &GroupState, member: &Member, comes_back: bool) -> Option<Duration> {
    let Some(registration) = state.registration_of(member) else {
        let owners = state.concerned(&member.name).filter_map(|at| state.assignment(at)?.owner.as_ref());
        let ttl_ms = owners.filter(|owner| owner.is(member)).map(|owner| owner.ttl_ms).max()?;
        return Some(Duration::from_millis(ttl_ms));
    };
    let (rejoin_grace_ms, waits_out) =
        state.configured(|config| (config.rejoin_grace_ms, config.wait_out_revocations));
    let grace_ms = if comes_back { rejoin_grace_ms } else { 0 };
    // Its successor in a stricter mode would wait for what it might do while it hears that the store can't be reached.
    let may_go_on = registration.outage_grace_ms > 0 && state.owns_something(member);
    (comes_back || waits_out || may_go_on).then(|| Duration::from_millis(registration.ttl_ms.max(grace_ms)))
}

/// The write that begins to end a session by force; `None` where it is over or ending already.
#[must_use]
pub fn end(state: &GroupState, member: &Member, why: FenceReason) -> Option<Write> {
    advance::end_session(state, member, why).map(Draft::into_write)
}

/// True if a draining consumer has nothing left: no partition, no part in any handoff, and nothing that it might
/// have by a record that was never readable.
#[must_use]
pub fn is_drained(state: &GroupState, member: &Member) -> bool {
    let is_free = |at| crate::view::role(state, member, at).is_none() && state.error_at(at).is_none();
    state.concerned(&member.name).all(is_free) && !state.has_mysteries()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Renewal, Router};
    use kafka_assigner_types::kv::Revision;

    fn incarnation(text: &str) -> Incarnation {
        Incarnation::new(text).unwrap()
    }

    fn registered(by: &str, lease: i64, standing: Standing) -> Record {
        let consumer =
            Consumer { standing, ..Consumer::new(incarnation(by), 30_000, Renewal::Client, WallMillis(0)) };
        Record {
            key: "k".into(),
            value: encode(&consumer),
            create_revision: Revision(5),
            mod_revision: Revision(6),
            lease: LeaseId(lease),
        }
    }

    #[test]
    fn only_the_opening_of_a_session_writes_a_registration() {
        let record = registered("1", 7, Standing::Active);
        let opened = admit::<Consumer>(Some(&record), &incarnation("2"), &Opening::New);
        assert_eq!(opened, Admission::Create { takes_over: Some(LeaseId(7)) });
        let repeated = admit::<Consumer>(Some(&record), &incarnation("1"), &Opening::New);
        assert_eq!(repeated, Admission::Fenced(FenceReason::Superseded), "one incarnation, one lease");
        let resumed = admit::<Consumer>(Some(&record), &incarnation("1"), &Opening::Resume(LeaseId(7)));
        assert_eq!(resumed, Admission::Attach);
        let resumed = admit::<Consumer>(None, &incarnation("1"), &Opening::Resume(LeaseId(7)));
        assert_eq!(resumed, Admission::Fenced(FenceReason::Gone));
    }

    #[test]
    fn a_session_is_over_under_another_lease_another_incarnation_or_when_ending() {
        let record = registered("1", 7, Standing::Active);
        assert_eq!(
            check::<Consumer>(Some(&record), &incarnation("1"), LeaseId(8)),
            Err(FenceReason::Superseded)
        );
        assert_eq!(
            check::<Consumer>(Some(&record), &incarnation("2"), LeaseId(7)),
            Err(FenceReason::Superseded)
        );
        let record = registered("1", 7, Standing::Ending(FenceReason::NoProgress));
        assert_eq!(
            check::<Consumer>(Some(&record), &incarnation("1"), LeaseId(7)),
            Err(FenceReason::NoProgress)
        );
    }

    #[test]
    fn a_routers_session_is_judged_by_its_incarnation_and_lease_as_well() {
        let router = Router::new(incarnation("1"), 30_000, WallMillis(0));
        let record = Record { value: encode(&router), ..registered("1", 7, Standing::Active) };
        let opened = admit::<Router>(Some(&record), &incarnation("2"), &Opening::New);
        assert_eq!(opened, Admission::Create { takes_over: Some(LeaseId(7)) });
        let resumed = admit::<Router>(Some(&record), &incarnation("1"), &Opening::Resume(LeaseId(7)));
        assert_eq!(resumed, Admission::Attach);
        let lease = check::<Router>(Some(&record), &incarnation("1"), LeaseId(8));
        assert_eq!(lease, Err(FenceReason::Superseded));
        assert_eq!(check::<Router>(None, &incarnation("1"), LeaseId(7)), Err(FenceReason::Gone));
    }

    #[test]
    fn an_unreadable_registration_is_not_called_over() {
        let record = Record { value: "{".into(), ..registered("1", 7, Standing::Active) };
        assert_eq!(check::<Consumer>(Some(&record), &incarnation("1"), LeaseId(7)), Ok(None));
    }
}
