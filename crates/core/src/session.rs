//! Sessions of consumers: who may register, who is still registered, and how a session ends.

use crate::draft::Draft;
use crate::id::{Incarnation, Member};
use crate::key::Key;
use crate::kv::{Compare, Lease, LeaseId, Must, Op, Record, Revision};
use crate::moment::WallMillis;
use crate::name::MemberName;
use crate::reason::FenceReason;
use crate::record::{Consumer, Rejoin, Standing, decode, encode};
use crate::state::{GroupState, Versioned};
use crate::write::Write;
use crate::{advance, key};

/// What a Register asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A session that does not exist yet.
    New,
    /// Another stream for a session that was granted this lease.
    Resume(LeaseId),
}

/// What is done about a Register, decided on the registration as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Write the registration, under a lease that was granted for it, where the key is as it was read.
    Create {
        /// The revision at which a registration of the same name was read, which the new one takes over.
        takes_over: Option<Revision>,
    },
    /// The session exists: keep its lease alive and attach the stream.
    Attach,
    /// The session is over; this is final.
    Fenced(FenceReason),
}

/// Decides about a Register.
///
/// Only the opening of a session writes a registration. Whoever resumes and does not find its own is fenced,
/// and so is whoever opens a session that was opened before (a repeated call): "gone" stays final for an
/// incarnation, and no incarnation gets a second lease.
#[must_use]
pub fn admit(registered: Option<&Record>, incarnation: &Incarnation, opening: &Opening) -> Admission {
    match (opening, registered) {
        (Opening::New, None) => Admission::Create { takes_over: None },
        (Opening::New, Some(record)) if names(record, incarnation) => {
            Admission::Fenced(FenceReason::Superseded)
        }
        (Opening::New, Some(record)) => Admission::Create { takes_over: Some(record.mod_revision) },
        (Opening::Resume(lease), registered) => match check(registered, incarnation, *lease) {
            Ok(_) => Admission::Attach,
            Err(reason) => Admission::Fenced(reason),
        },
    }
}

fn names(record: &Record, incarnation: &Incarnation) -> bool {
    decode::<Consumer>(&record.value).is_ok_and(|consumer| consumer.incarnation == *incarnation)
}

/// Whether a registration still is that of the session `incarnation` under `lease`.
///
/// # Errors
/// Why the session is over. A registration that can't be read is not called over: its lease tells.
pub fn check(
    registered: Option<&Record>,
    incarnation: &Incarnation,
    lease: LeaseId,
) -> Result<Option<Consumer>, FenceReason> {
    let record = registered.ok_or(FenceReason::Gone)?;
    if record.lease != lease {
        return Err(FenceReason::Superseded);
    }
    match decode::<Consumer>(&record.value) {
        Err(_) => Ok(None),
        Ok(consumer) if consumer.incarnation != *incarnation => Err(FenceReason::Superseded),
        Ok(Consumer { standing: Standing::Ending(reason), .. }) => Err(reason),
        Ok(consumer) => Ok(Some(consumer)),
    }
}

/// The write that opens a session: the registration under its lease, guarded on what was read. A mark that the
/// name may come back has done its work.
#[must_use]
pub fn open(
    layout: &key::Layout,
    name: &MemberName,
    consumer: &Consumer,
    lease: Lease,
    takes_over: Option<Revision>,
) -> Write {
    let at = layout.encode(&Key::Consumer(name.clone()));
    let must = takes_over.map_or(Must::BeAbsent, Must::HaveModRevision);
    Write {
        guards: vec![Compare::new(at.clone(), must)],
        ops: vec![
            Op::put_leased(at, encode(consumer), lease.id),
            Op::delete(layout.encode(&Key::Rejoin(name.clone()))),
        ],
    }
}

/// How a session ends when its consumer says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// Hand everything over first.
    Drain,
    /// The consumer has stopped all work.
    Now,
    /// The consumer has stopped all work and comes back; its partitions are kept under this lease.
    Restart(Lease),
}

/// The write that lets `member` leave; `None` where its session is over already, and where one that is being
/// ended by force asks to drain first: that must not undo the end.
#[must_use]
pub fn leave(state: &GroupState, member: &Member, leaving: &Leaving, wall: WallMillis) -> Option<Write> {
    let registration = own_registration(state, member)?;
    if *leaving == Leaving::Drain && registration.is_ending() {
        return None;
    }
    let draft = Draft::on(state).registered(&member.name, registration);
    Some(match leaving {
        Leaving::Drain => {
            let next = Consumer { standing: Standing::Draining, ..(**registration).clone() };
            Draft::on(state).register(&member.name, registration.lease, &next).into_write()
        }
        Leaving::Now => without_registration(draft, member).into_write(),
        Leaving::Restart(lease) => {
            let mut write = without_registration(draft, member).into_write();
            let mark = Rejoin::new(member.incarnation.clone(), wall);
            let at = state.layout().encode(&Key::Rejoin(member.name.clone()));
            write.ops.push(Op::put_leased(at, encode(&mark), lease.id));
            write
        }
    })
}

fn own_registration<'s>(state: &'s GroupState, member: &Member) -> Option<&'s Versioned<Consumer>> {
    state.registration(&member.name).filter(|r| r.incarnation == member.incarnation)
}

fn without_registration<'s>(mut draft: Draft<'s>, member: &Member) -> Draft<'s> {
    draft.delete(&Key::Consumer(member.name.clone()));
    draft
}

/// The write that begins to end a session by force; `None` where it is over or ending already.
#[must_use]
pub fn end(state: &GroupState, member: &Member, why: FenceReason) -> Option<Write> {
    advance::end_session(state, member, why).map(Draft::into_write)
}

/// Whether a draining consumer has nothing left: no partition, no part in any handoff, and nothing that it might
/// have by a record that was never readable.
#[must_use]
pub fn is_drained(state: &GroupState, member: &Member) -> bool {
    let is_free = |at| crate::view::role(state, member, at).is_none() && state.error_at(at).is_none();
    state.concerned(&member.name).all(is_free) && !state.has_mysteries()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Renewal;

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
        let opened = admit(Some(&record), &incarnation("2"), &Opening::New);
        assert_eq!(opened, Admission::Create { takes_over: Some(Revision(6)) });
        let repeated = admit(Some(&record), &incarnation("1"), &Opening::New);
        assert_eq!(repeated, Admission::Fenced(FenceReason::Superseded), "one incarnation, one lease");
        let resumed = admit(Some(&record), &incarnation("1"), &Opening::Resume(LeaseId(7)));
        assert_eq!(resumed, Admission::Attach);
        let resumed = admit(None, &incarnation("1"), &Opening::Resume(LeaseId(7)));
        assert_eq!(resumed, Admission::Fenced(FenceReason::Gone));
    }

    #[test]
    fn a_session_is_over_under_another_lease_another_incarnation_or_when_ending() {
        let record = registered("1", 7, Standing::Active);
        assert_eq!(check(Some(&record), &incarnation("1"), LeaseId(8)), Err(FenceReason::Superseded));
        assert_eq!(check(Some(&record), &incarnation("2"), LeaseId(7)), Err(FenceReason::Superseded));
        let record = registered("1", 7, Standing::Ending(FenceReason::NoProgress));
        assert_eq!(check(Some(&record), &incarnation("1"), LeaseId(7)), Err(FenceReason::NoProgress));
    }

    #[test]
    fn an_unreadable_registration_is_not_called_over() {
        let record = Record { value: "{".into(), ..registered("1", 7, Standing::Active) };
        assert_eq!(check(Some(&record), &incarnation("1"), LeaseId(7)), Ok(None));
    }
}
