//! The suspicion that a consumer's process is dead: when an instance marks a registration with it, and who removes the mark.
//!
//! ```text
//!   its side closed the last stream, nothing heard for `suspect_after` ──► mark: detached ─┐
//!   heard here last, and not for one time to live                      ──► mark: silent   ─┤
//!                                                                                          ▼
//!   a heartbeat or a resume is confirmed: the mark goes first, by one guarded write    registration
//!   a stream of the session is served: a mark "detached" goes
//! ```
//!
//! The mark is a field of the registration, since that is the one record which every heartbeat reads linearizably. Each
//! write of it is guarded on the registration's last change: it never creates the key, and of a removal and whatever
//! else is decided by that mark only one applies.

use std::time::Duration;

use crate::draft::Draft;
use crate::record::{Capability, Consumer, DeathSign, Renewal, Suspicion, decode, encode};
use crate::session::Registration;
use crate::state::{GroupState, Versioned};
use crate::write::Write;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::{Compare, Must, Op, Record};

/// So many processes may lose their streams at once at any instance, however few it serves.
const MOST_AT_ONCE: usize = 3;

/// The part of an instance's processes that may lose their streams at once: a tenth. More is an event of the network.
const PART_AT_ONCE: usize = 10;

/// The signs of life of a session whose stream ended, as its instance has them some time later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LifeSigns {
    /// True if a heartbeat of the session was heard since, or another stream of it is here.
    pub is_heard: bool,
    /// The number of processes whose streams ended about then, at this instance.
    pub ended: usize,
    /// The number of processes that had streams here about then, those included.
    pub processes: usize,
}

/// The reason why a session is not marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkWithheld {
    /// It was heard since, or has another stream.
    Alive,
    /// Too many streams ended at once.
    Mass,
    /// Its lease was kept alive since, by another instance.
    Renewed,
    /// The store could not be asked, or the registration kept changing.
    Undecided,
}

impl MarkWithheld {
    /// A stable word for metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Mass => "mass",
            Self::Renewed => "renewed",
            Self::Undecided => "undecided",
        }
    }
}

impl LifeSigns {
    /// The reason not to mark the session, as far as the instance knows without its store.
    #[must_use]
    pub const fn withhold(self) -> Option<MarkWithheld> {
        if self.is_heard {
            Some(MarkWithheld::Alive)
        } else if is_mass_end(self.ended, self.processes) {
            Some(MarkWithheld::Mass)
        } else {
            None
        }
    }
}

/// True if the streams of so many of an instance's `processes` ended at once that the network is at fault, or the instance.
#[must_use]
pub const fn is_mass_end(ended: usize, processes: usize) -> bool {
    ended > MOST_AT_ONCE && ended * PART_AT_ONCE > processes
}

/// True if a lease with the time to live `ttl`, of which `rest` is left by the store's answer, was certainly kept alive
/// within the time `since` an event, as it was before the store was asked. The store rounds that answer up by less than
/// `rounding`, so an event that is not longer ago than this can't be told from a renewal.
#[must_use]
pub fn is_renewed(ttl: Duration, rest: Duration, since: Duration, rounding: Duration) -> bool {
    rest.saturating_sub(rounding) > ttl.saturating_sub(since)
}

/// The registration of `member` where it may be marked: its client renews it and says so when it lives on, it is not being
/// ended, and has no mark yet. A draining consumer may die as well.
#[must_use]
pub fn suspect<'s>(state: &'s GroupState, member: &Member) -> Option<&'s Versioned<Consumer>> {
    let registered = state.registration_of(member)?;
    let would_say_so =
        registered.renewal == Renewal::Client && registered.capabilities.contains(&Capability::Present);
    (would_say_so && !registered.is_ending() && registered.suspected.is_none()).then_some(registered)
}

/// The write that marks the session of `member`; `None` where it may not be marked.
#[must_use]
pub fn mark(state: &GroupState, member: &Member, suspicion: Suspicion) -> Option<Write> {
    let registered = suspect(state, member)?;
    let marked = Consumer { suspected: Some(suspicion), ..(**registered).clone() };
    Some(Draft::on(state).register(&member.name, registered.lease, &marked).into_write())
}

/// The write that removes the mark from a registration as it was read, and the fences of what its client says that it has
/// `dropped`; `None` where there is none of both.
#[must_use]
pub fn unmark<R: Registration>(registered: &Record, dropped: &[(TopicPartition, Epoch)]) -> Option<Write> {
    let read = decode::<R>(&registered.value).ok()?;
    let unfenced = read.unfenced(dropped);
    let unmarked = unfenced.as_ref().unwrap_or(&read).unmarked();
    let next = unmarked.or(unfenced)?;
    let key = registered.key.clone();
    Some(Write {
        guards: vec![Compare::new(key.clone(), Must::HaveModRevision(registered.mod_revision))],
        ops: vec![Op::put_leased(key, encode(&next), registered.lease)],
    })
}

/// The write by which an instance that serves a stream of `member` removes the mark that its stream ended elsewhere; `None`
/// where there is none. That it was not heard is another matter, which a heartbeat tells.
#[must_use]
pub fn unmark_served(state: &GroupState, member: &Member) -> Option<Write> {
    let registered = state.registration_of(member)?;
    let is_detached = matches!(&registered.suspected, Some(mark) if mark.sign == DeathSign::Detached);
    let unmarked = registered.unmarked().filter(|_| is_detached && !registered.is_ending())?;
    Some(Draft::on(state).register(&member.name, registered.lease, &unmarked).into_write())
}

#[cfg(test)]
#[path = "suspicion/suspicion_test.rs"]
mod suspicion_test;
