//! I7: what only the leader may write is written by whoever leads in that very moment.

use kafka_assigner_core::id::TopicPartition;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Handoff, Phase};

use super::{Findings, Invariant, Step};

#[derive(Debug)]
pub(super) struct OneWriter;

impl Invariant for OneWriter {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        let Some(writer) = step.writer.filter(|_| !step.leader_wrote()) else { return };
        for (key, _) in step.changes {
            let is_leaders = match key {
                Key::Assignment(_) | Key::Topic(_) => true,
                Key::Handoff(at) => !is_ack(step, at),
                _ => false,
            };
            if is_leaders {
                let leader = step.before.leader().and_then(|entry| entry.last_good());
                let leader = leader.map_or("nobody", |leader| leader.instance.as_str());
                let what = format!("{writer} wrote {key:?} in {} while {leader} led", step.revision);
                findings.report("I7", step.at, what);
            }
        }
    }
}

/// Whether the change is one that any instance makes for a member's word.
pub(super) fn is_ack(step: &Step<'_>, at: &TopicPartition) -> bool {
    let Some(before) = step.before.handoff_of(at) else { return false };
    match step.after.handoff_of(at) {
        None => before.phase == Phase::Complete && before.taken.is_some(),
        Some(after) => {
            after.id == before.id
                && (is_ready(before, after) || is_taken(before, after) || is_said(before, after))
        }
    }
}

fn is_ready(before: &Handoff, after: &Handoff) -> bool {
    (before.phase, after.phase) == (Phase::Warming, Phase::Ready)
}

fn is_taken(before: &Handoff, after: &Handoff) -> bool {
    before.phase == Phase::Complete && after.phase == Phase::Complete && after.taken.is_some()
}

/// Whether nothing but the word of one partition more was noted.
fn is_said(before: &Handoff, after: &Handoff) -> bool {
    let (said, old_said) = (after.said.clone(), after.old_said.clone());
    let noted = Handoff { said, old_said, ..before.clone() };
    noted == *after && after.said.is_superset(&before.said)
}
