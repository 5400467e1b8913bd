//! I8: nothing counts as said unless that member said it, in that session, of that handoff.

use std::collections::BTreeSet;

use kafka_assigner_core::id::{Member, TopicPartition};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Handoff, Phase, Wish};
use kafka_assigner_core::state::{GroupState, Presence};

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What, Word};

#[derive(Debug, Default)]
pub(super) struct AckIdentity {
    said: BTreeSet<(Member, Word, String)>,
}

impl AckIdentity {
    fn was_said(&self, by: &Member, word: Word, handoff: &Handoff) -> bool {
        self.said.contains(&(by.clone(), word, handoff.id.to_string()))
    }

    fn expect(&self, step: &Step<'_>, by: &Member, word: Word, handoff: &Handoff, findings: &mut Findings) {
        if !self.was_said(by, word, handoff) {
            let what = format!("{word:?} counts for handoff {} and {by} never said it", handoff.id);
            findings.report("I8", step.at, what);
        }
    }

    fn handoff(&self, step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let Some(before) = step.before.handoff(at) else { return };
        match step.after.handoff(at).filter(|after| after.id == before.id) {
            Some(after) => {
                if before.phase == Phase::Warming && after.phase == Phase::Ready {
                    self.expect(step, &after.new, Word::Ready, after, findings);
                }
                if before.taken.is_none() && after.taken.is_some() {
                    self.expect(step, &after.new, Word::Taken, after, findings);
                }
            }
            None if must_be_released(step.before, before) => {
                self.expect(step, &before.old, Word::Released, before, findings);
            }
            None => {}
        }
    }

    fn intent(&self, step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let Some(intent) = step.after.intents().get(at).and_then(|entry| entry.readable()) else { return };
        let Some(handoff) = step.before.handoff(at).filter(|handoff| handoff.id == intent.id) else { return };
        if matches!(intent.wish, Wish::Failed { .. }) {
            self.expect(step, &handoff.new, Word::WarmFailed, handoff, findings);
        }
    }
}

/// Whether only the old owner's word may end a handoff: both parties are there, and the unit is as it was.
fn must_be_released(state: &GroupState, handoff: &Handoff) -> bool {
    let is_here = |member: &Member| state.presence(member) == Presence::Here;
    let stands = |at: &TopicPartition| {
        let owner = state.assignment(at).and_then(|a| a.owner.as_ref());
        let topic = state.topics().get(&at.topic).and_then(|entry| entry.last_good());
        owner.is_some_and(|owner| owner.is(&handoff.new)) && topic.is_some_and(|t| at.partition < t.partitions)
    };
    handoff.phase == Phase::Complete
        && is_here(&handoff.old)
        && is_here(&handoff.new)
        && handoff.unit.iter().all(stands)
}

impl Invariant for AckIdentity {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        if step.writer.is_none() {
            return;
        }
        for (key, _) in step.changes {
            match key {
                Key::Handoff(at) => self.handoff(step, at, findings),
                Key::Intent(at) => self.intent(step, at, findings),
                _ => {}
            }
        }
    }

    fn entry(&mut self, entry: &Entry, _findings: &mut Findings) {
        if let What::Said { by, word, handoff } = &entry.what {
            self.said.insert((by.clone(), *word, handoff.clone()));
        }
    }
}
