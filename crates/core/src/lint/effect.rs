//! The effect of one action, if it is written to the state that it was decided on.

use crate::action::Action;
use crate::key::Key;
use crate::leader::LeaderContext;
use crate::record::{Assignment, Handoff, Owner};
use crate::state::GroupState;
use crate::write::Write;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::{Change, Op, Record, Revision};
use kafka_assigner_types::mode::Mode;

/// The state before and after one write.
pub(super) struct Effect<'a> {
    pub(super) before: &'a GroupState,
    pub(super) after: GroupState,
    pub(super) write: &'a Write,
    pub(super) context: LeaderContext<'a>,
    /// The records that are put.
    pub(super) puts: Vec<Key>,
    /// The records that are deleted; a prefix of router acks is not among them.
    pub(super) deletes: Vec<Key>,
}

/// A consumer that gains a partition: as its owner, or as the new owner of a handoff that begins.
pub(super) struct Gain<'e> {
    pub(super) member: Member,
    pub(super) at: &'e TopicPartition,
    pub(super) mode: Mode,
    /// True if it owned the partition before the handoff that gives it back.
    pub(super) is_given_back: bool,
}

impl<'a> Effect<'a> {
    pub(super) fn of(before: &'a GroupState, action: &'a Action, context: LeaderContext<'a>) -> Self {
        let revision = before.revision().next();
        let (mut after, mut puts, mut deletes) = (before.clone(), Vec::new(), Vec::new());
        for op in &action.write.ops {
            let Some(change) = change(op, revision) else { continue };
            let Some(key) = before.layout().decode(change.key()) else { continue };
            let list = if matches!(change, Change::Put(_)) { &mut puts } else { &mut deletes };
            list.push(key);
            let _touched = after.apply(&[change], revision);
        }
        Self { before, after, write: &action.write, context, puts, deletes }
    }

    /// The partitions whose assignment is put, with the assignment after it.
    pub(super) fn assigned(&self) -> impl Iterator<Item = (&TopicPartition, &Assignment)> {
        self.puts.iter().filter_map(assignment_of).filter_map(|at| Some((at, self.after.assignment(at)?)))
    }

    /// The partitions whose assignment is put or deleted.
    pub(super) fn reassigned(&self) -> impl Iterator<Item = &TopicPartition> {
        self.puts.iter().chain(&self.deletes).filter_map(assignment_of)
    }

    /// The handoffs whose record is put, with the same handoff before where it lay there already.
    pub(super) fn handoffs(&self) -> impl Iterator<Item = (Option<&Handoff>, &Handoff)> {
        let put = self.puts.iter().filter_map(handoff_at).filter_map(|at| self.after.handoff(at));
        put.map(|after| {
            let before = self.before.handoff(after.lead()).filter(|before| before.id == after.id);
            (before, after)
        })
    }

    /// The handoffs that begin.
    pub(super) fn begun(&self) -> impl Iterator<Item = &Handoff> {
        self.handoffs().filter_map(|(before, after)| before.is_none().then_some(after))
    }

    /// Every gain of a consumer.
    pub(super) fn gains(&self) -> impl Iterator<Item = Gain<'_>> {
        let granted = self.assigned().filter_map(|(at, after)| self.granted(at, after));
        let begun = self.begun().flat_map(|handoff| {
            handoff.unit.iter().map(|at| {
                let (member, mode) = (handoff.new.clone(), handoff.mode);
                Gain { member, at, mode, is_given_back: false }
            })
        });
        granted.chain(begun)
    }

    fn granted<'e>(&self, at: &'e TopicPartition, after: &Assignment) -> Option<Gain<'e>> {
        let member = owner(Some(after))?;
        let is_gain = owner(self.before.assignment(at)).as_ref() != Some(&member);
        let is_given_back = self.before.handoff_of(at).is_some_and(|handoff| handoff.old == member);
        is_gain.then_some(Gain { member, at, mode: after.mode, is_given_back })
    }
}

const fn assignment_of(key: &Key) -> Option<&TopicPartition> {
    if let Key::Assignment(at) = key { Some(at) } else { None }
}

/// The partition of which `key` is the handoff's record, or a reference to it.
pub(super) const fn handoff_at(key: &Key) -> Option<&TopicPartition> {
    if let Key::Handoff(at) = key { Some(at) } else { None }
}

/// The owner that an assignment names.
pub(super) fn owner(assignment: Option<&Assignment>) -> Option<Member> {
    assignment?.owner.as_ref().map(Owner::member)
}

fn change(op: &Op, revision: Revision) -> Option<Change> {
    match op {
        Op::Put { key, value, lease } => Some(Change::Put(Record {
            key: key.clone(),
            value: value.clone(),
            create_revision: revision,
            mod_revision: revision,
            lease: *lease,
        })),
        Op::Delete { key } => Some(Change::Delete { key: key.clone(), revision }),
        Op::DeletePrefix { .. } | Op::Get { .. } => None,
    }
}
