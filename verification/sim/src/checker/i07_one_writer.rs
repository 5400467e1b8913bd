//! I7: what only the leader may write is written by whoever leads in that very moment.

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Handoff, Phase};
use kafka_assigner_types::id::TopicPartition;

use super::{Findings, Invariant, Step};

#[derive(Debug)]
pub(super) struct OneWriter;

impl Invariant for OneWriter {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        // An operator may delete a whole group.
        let is_leaders = !step.leader_wrote() && !step.is_of_the_group();
        let Some(writer) = step.writer.filter(|_| is_leaders) else { return };
        for (key, _) in step.changes {
            let is_leaders = match key {
                Key::Topic(_) => true,
                Key::Assignment(at) => !is_switch(step, at),
                Key::Handoff(at) => !is_ack(step, at),
                _ => false,
            };
            if is_leaders {
                let leader = step.before.leader().and_then(|entry| entry.last_good());
                let leader = leader.map_or("nobody", |leader| leader.instance.as_str());
                let what = format!("{writer} wrote {key:?} in {} while {leader} led", step.revision);
                findings.report(step.at, what);
            }
        }
    }
}

/// True if the change is one that any instance makes for a member's word.
pub(super) fn is_ack(step: &Step<'_>, at: &TopicPartition) -> bool {
    let Some(before) = step.before.handoff_of(at) else { return false };
    match step.after.handoff_of(at) {
        None => before.phase == Phase::Complete && (before.taken.is_some() || before.mode.is_strict()),
        Some(after) => {
            after.id == before.id
                && (is_ready(before, after)
                    || is_hand_over(before, after)
                    || is_taken(before, after)
                    || is_said(before, after))
        }
    }
}

/// True if the assignment changed with a member's word that hands the partition over, or confirms its mode.
fn is_switch(step: &Step<'_>, at: &TopicPartition) -> bool {
    let moves = step.before.handoff_of(at).zip(step.after.handoff_of(at));
    moves.is_some_and(|(before, after)| before.id == after.id && is_hand_over(before, after))
        || confirms(step, at)
}

fn confirms(step: &Step<'_>, at: &TopicPartition) -> bool {
    let (Some(before), Some(after)) = (step.before.assignment(at), step.after.assignment(at)) else {
        return false;
    };
    *after == before.switch_confirmed()
}

/// Phases that end with the word of a router, of the old owner, or of the new one.
fn is_hand_over(before: &Handoff, after: &Handoff) -> bool {
    matches!(
        (before.phase, after.phase),
        (Phase::Freezing, Phase::Draining)
            | (Phase::Draining, Phase::CatchingUp | Phase::Complete)
            | (Phase::CatchingUp, Phase::Complete)
    )
}

fn is_ready(before: &Handoff, after: &Handoff) -> bool {
    (before.phase, after.phase) == (Phase::Warming, Phase::Ready)
}

fn is_taken(before: &Handoff, after: &Handoff) -> bool {
    before.phase == Phase::Complete && after.phase == Phase::Complete && after.taken.is_some()
}

/// True if nothing but the word of one partition more was noted.
fn is_said(before: &Handoff, after: &Handoff) -> bool {
    let noted = Handoff {
        said: after.said.clone(),
        old_said: after.old_said.clone(),
        stopped_at: after.stopped_at.clone(),
        last_at: after.last_at,
        ..before.clone()
    };
    noted == *after && after.said.is_superset(&before.said) && after.old_said.is_superset(&before.old_said)
}
