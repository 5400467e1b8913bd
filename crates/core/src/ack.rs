//! The acks of members about handoffs, and the writes that record them.
//!
//! Any instance records an ack: the write is guarded on the very handoff, phase and session that the ack
//! names, so a late, repeated or foreign one changes nothing (invariant I8). No leader is on its path.
//!
//! The acks of one call that concern one unit are judged together and recorded by one write: each of them changes the
//! same record, so writes of their own would stand in each other's way.

mod intent;
mod owners;
mod routers;

use std::collections::BTreeMap;
use std::mem;

pub use intent::abort;

use crate::record::{Assignment, Handoff, Taken};
use crate::state::GroupState;
use crate::write::Write;
use kafka_assigner_types::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::WallMillis;

/// One ack of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAck {
    /// The partition that it is about.
    pub at: TopicPartition,
    /// The handoff that it names; `None`: whichever handoff of the partition concerns the member, for minimal clients.
    /// Those exist in `overlap` only: in the strict modes an ack that names no handoff is refused, or one about an
    /// earlier attempt would end the next (invariant I8).
    pub handoff: Option<HandoffId>,
    /// The step that the member has done.
    pub ack: Ack,
}

/// A step of a handoff that a member has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ack {
    /// The new owner has its state.
    Ready,
    /// No record is in the works at the old owner, and where its records take long, none begins.
    Rested,
    /// The old owner has stopped.
    Drained(Drained),
    /// The new owner has taken its fences and read what was left.
    CaughtUp,
    /// The new owner processes; or the owner goes on under the mode of a new grant.
    Taken(Taken),
    /// The old owner let go.
    Released {
        /// The time of its last record, by its own clock. In the strict modes it reported the time when it stopped.
        last_at: Option<WallMillis>,
    },
    /// The new owner can't do it.
    WarmFailed {
        /// Its reason.
        reason: String,
    },
    /// The router, the one member here that is no consumer, sends nothing to the old owner any more.
    Frozen,
}

/// The end of the old owner's work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drained {
    /// The record after the last one that it finished; `None`: it does not know, and the committed offset counts. One below
    /// the start of its own grant counts too: a log may have been truncated, and a record that is processed twice does
    /// less harm than one that is lost.
    pub offset: Option<Offset>,
    /// The time at which it handled its last record, by its own clock.
    pub last_at: Option<WallMillis>,
}

/// The decision about an ack.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It counts; this write records it.
    Record {
        /// The write.
        write: Write,
        /// The handoff as it was; `None`: it was about a grant in another mode.
        handoff: Option<Box<Handoff>>,
    },
    /// It took effect before.
    Already,
    /// The handoff that it names is over, or never was.
    Over,
    /// It is not the caller's to say, or not in this phase.
    Refused {
        /// The reason.
        because: String,
    },
    /// A record that it depends on can't be read: nothing is known, so nothing is changed.
    Unreadable {
        /// The error.
        error: String,
    },
}

/// The decision about some of the acks of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Their numbers in the call; never empty. Several only where one write records them.
    pub acks: Vec<usize>,
    /// The decision, the same for each.
    pub verdict: Verdict,
}

/// Judges the acks of one call of `caller`; the state is as after none of them.
///
/// Of each unit the result has one write at most. It records the acks of the first kind that counts, and of each
/// partition the first one. An ack about that unit of another kind, or about a partition for the second time, is in no
/// result: it is to be judged again on the state that the write leaves.
#[must_use]
pub fn judge_all<'a>(
    state: &GroupState,
    caller: &Member,
    acks: impl IntoIterator<Item = &'a MemberAck>,
    wall: WallMillis,
) -> Vec<Judged> {
    let mut judged = Vec::new();
    let mut units = BTreeMap::<&TopicPartition, Joint<'_>>::new();
    for (number, ack) in acks.into_iter().enumerate() {
        match subject(state, caller, ack) {
            Ok(subject) => {
                units.entry(subject.lead(ack)).or_insert_with(|| Joint::about(subject)).add(number, ack);
            }
            Err(verdict) => judged.push(Judged { acks: vec![number], verdict }),
        }
    }
    judged.extend(units.into_values().map(|joint| Judged {
        verdict: record(state, caller, joint.subject, &joint.acks, wall),
        acks: joint.numbers,
    }));
    judged
}

/// Judges one ack of `caller`, as [`judge_all`] judges several.
#[must_use]
pub fn judge(state: &GroupState, caller: &Member, ack: &MemberAck, wall: WallMillis) -> Verdict {
    match subject(state, caller, ack) {
        Ok(subject) => record(state, caller, subject, &[ack], wall),
        Err(verdict) => verdict,
    }
}

/// The gap that a move leaves in a partition, in milliseconds from the old owner's last record to the new one's first,
/// by their own clocks; known with the ack that tells its second edge: in `overlap` the old owner's last, in the strict
/// modes, where that one stopped before, the new one's first. 0: they overlapped. Of partitions that move as one it is
/// not known: they have one pair of edges, which need not be of the same partition.
#[must_use]
pub fn gap_ms(handoff: &Handoff, ack: &Ack) -> Option<u64> {
    if handoff.unit.len() > 1 {
        return None;
    }
    let (last, first) = match ack {
        Ack::Released { last_at } if !handoff.mode.is_strict() => {
            (*last_at, handoff.taken.as_ref()?.first_at)
        }
        Ack::Taken(taken) if handoff.mode.is_strict() => (handoff.last_at, taken.first_at),
        _ => return None,
    };
    Some(first?.0.saturating_sub(last?.0))
}

/// The record that an ack changes.
#[derive(Debug, Clone, Copy)]
enum AckSubject<'s> {
    /// A handoff, as a consumer in it changes it.
    Handoff(&'s Handoff),
    /// A handoff that freezes, as a router whose session has this lease changes it.
    Freeze(&'s Handoff, LeaseId),
    /// A grant in another mode that its owner has to confirm.
    Grant(&'s Assignment),
}

impl<'s> AckSubject<'s> {
    /// The partition at which the record lies that `ack` changes.
    fn lead<'a>(&self, ack: &'a MemberAck) -> &'a TopicPartition
    where
        's: 'a,
    {
        match self {
            Self::Handoff(handoff) | Self::Freeze(handoff, _) => handoff.lead(),
            Self::Grant(_) => &ack.at,
        }
    }
}

/// Acks of one kind about different partitions of one unit.
struct Joint<'a> {
    subject: AckSubject<'a>,
    numbers: Vec<usize>,
    acks: Vec<&'a MemberAck>,
}

impl<'a> Joint<'a> {
    const fn about(subject: AckSubject<'a>) -> Self {
        Self { subject, numbers: Vec::new(), acks: Vec::new() }
    }

    fn add(&mut self, number: usize, ack: &'a MemberAck) {
        let kind = mem::discriminant(&ack.ack);
        if self.acks.iter().all(|other| mem::discriminant(&other.ack) == kind && other.at != ack.at) {
            self.numbers.push(number);
            self.acks.push(ack);
        }
    }
}

/// The record that `ack` changes, or the decision where it changes none.
fn subject<'s>(state: &'s GroupState, caller: &Member, ack: &MemberAck) -> Result<AckSubject<'s>, Verdict> {
    if let Some(error) = state.handoff_error(&ack.at) {
        return Err(Verdict::Unreadable { error: error.to_owned() });
    }
    let named = |handoff: &&Handoff| ack.handoff.as_ref().is_none_or(|id| handoff.id == *id);
    let handoff = state.handoff_of(&ack.at).filter(named);
    match ack.ack {
        Ack::Frozen => routers::subject(state, caller, handoff, ack),
        _ => owners::subject(state, caller, handoff, ack),
    }
}

/// The write that records `acks`, which are of one kind and change this subject.
fn record(
    state: &GroupState,
    caller: &Member,
    subject: AckSubject<'_>,
    acks: &[&MemberAck],
    wall: WallMillis,
) -> Verdict {
    match subject {
        AckSubject::Handoff(handoff) => owners::record(state, caller, handoff, acks, wall),
        AckSubject::Freeze(handoff, lease) => routers::record(state, (caller, lease), handoff, acks),
        AckSubject::Grant(assignment) => owners::confirm(state, assignment, acks),
    }
}

fn refused(because: &str) -> Verdict {
    Verdict::Refused { because: because.to_owned() }
}

fn over_session() -> Verdict {
    refused("the caller's session is over")
}

fn recorded(write: Write, handoff: &Handoff) -> Verdict {
    Verdict::Record { write, handoff: Some(Box::new(handoff.clone())) }
}
