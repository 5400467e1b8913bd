//! I11: what can't be read is left alone, and nobody counts as gone whose registration can't be read.

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::Owner;
use kafka_assigner_core::state::Presence;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Change;

use super::i07_one_writer::is_ack;
use super::{Findings, Invariant, Step};

#[derive(Debug)]
pub(super) struct FailClosed;

impl FailClosed {
    /// An ack only asks whether its handoff can be read.
    fn touches(step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let error = if is_ack(step, at) { step.before.handoff_error(at) } else { step.before.error_at(at) };
        if let Some(error) = error {
            findings.report(step.at, format!("{at} was written while it can't be read: {error}"));
        }
    }

    /// Finds an owner who may well be there and lost its partition without a handoff to who has it now.
    fn takes(step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let Some(before) = step.before.assignment(at).and_then(|a| a.owner.as_ref()) else { return };
        let after = step.after.assignment(at).and_then(|a| a.owner.as_ref());
        let changes_hands = after.map(Owner::member) != Some(before.member());
        let by_handoff = step
            .before
            .handoff_of(at)
            .is_some_and(|handoff| after.is_some_and(|o| o.is(&handoff.new) || o.is(&handoff.old)));
        if changes_hands && !by_handoff && step.before.presence(&before.member()) == Presence::Unknown {
            let what = format!("{at} was taken from {}, whose registration can't be read", before.name);
            findings.report(step.at, what);
        }
    }

    fn forgets(step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let topic = step.before.topics().get(&at.topic);
        if topic.is_some_and(|entry| entry.readable().is_none()) {
            findings.report(step.at, format!("{at} was forgotten while its topic can't be read"));
        }
    }
}

impl Invariant for FailClosed {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        if step.writer.is_none() || step.is_of_the_group() {
            return;
        }
        for (key, change) in step.changes {
            match (key, change) {
                (Key::Assignment(at), Change::Put(_)) => {
                    Self::touches(step, at, findings);
                    Self::takes(step, at, findings);
                }
                (Key::Assignment(at), Change::Delete { .. }) => {
                    Self::touches(step, at, findings);
                    Self::forgets(step, at, findings);
                }
                (Key::Handoff(at), _) => Self::touches(step, at, findings),
                _ => {}
            }
        }
    }
}
