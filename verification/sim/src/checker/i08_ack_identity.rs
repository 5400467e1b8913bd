//! I8: nothing counts as said unless that member said it, in that session, of that handoff and that partition.

use std::collections::BTreeSet;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Capability, Handoff, IntentKind, Phase};
use kafka_assigner_core::state::{GroupState, Presence};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What, Word};

#[derive(Debug, Default)]
pub(super) struct AckIdentity {
    said: BTreeSet<(Member, Word, String, TopicPartition)>,
}

impl AckIdentity {
    fn expect<'a>(
        &self,
        step: &Step<'_>,
        (by, word, handoff): (&Member, Word, &Handoff),
        of: impl IntoIterator<Item = &'a TopicPartition>,
        findings: &mut Findings,
    ) {
        for at in of {
            if !self.said.contains(&(by.clone(), word, handoff.id.to_string(), at.clone())) {
                let what =
                    format!("{word:?} of {at} counts for handoff {} and {by} never said it", handoff.id);
                findings.report(step.at, what);
            }
        }
    }

    fn handoff(&self, step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let Some(before) = step.before.handoff(at) else { return };
        match step.after.handoff(at).filter(|after| after.id == before.id) {
            Some(after) => {
                let new_word = new_owners_word(before);
                self.expect(
                    step,
                    (&before.new, new_word, before),
                    after.said.difference(&before.said),
                    findings,
                );
                self.expect(
                    step,
                    (&before.old, old_owners_word(before), before),
                    after.old_said.difference(&before.old_said),
                    findings,
                );
                if went_on(step, before, after) {
                    self.expect(step, (&before.new, new_word, before), &before.unit, findings);
                }
                if was_to_rest(step, before, after) {
                    self.expect(step, (&before.old, Word::Rested, before), &before.unit, findings);
                }
                if froze(before, after) {
                    self.expect_routers(step, before, findings);
                }
                if stopped(step, before, after) {
                    self.expect(step, (&before.old, Word::Drained, before), &before.unit, findings);
                }
            }
            None if must_be_released(step, before) => {
                self.expect(step, (&before.old, Word::Released, before), &before.unit, findings);
            }
            None => {}
        }
    }

    /// Every router that was there before the freeze has said of every partition that it holds requests back.
    fn expect_routers(&self, step: &Step<'_>, handoff: &Handoff, findings: &mut Findings) {
        let state: &GroupState = step.before;
        let waited_for: Vec<_> = match handoff.phase {
            Phase::Freezing => state.required_routers(handoff).collect(),
            _ => state.routers().iter().collect(),
        };
        for (name, router) in waited_for {
            let Some(router) = router.readable() else {
                let what = format!("handoff {} did not wait for the unreadable router {name}", handoff.id);
                findings.report(step.at, what);
                continue;
            };
            let member = Member { name: name.clone(), incarnation: router.incarnation.clone() };
            self.expect(step, (&member, Word::Frozen, handoff), &handoff.unit, findings);
        }
    }

    fn intent(&self, step: &Step<'_>, at: &TopicPartition, findings: &mut Findings) {
        let Some(intent) = step.after.intents().get(at).and_then(|entry| entry.readable()) else { return };
        let Some(handoff) = step.before.handoff(at).filter(|handoff| handoff.id == intent.id) else { return };
        let said = |of: &&TopicPartition| {
            let word =
                (handoff.new.clone(), Word::WarmFailed, handoff.id.to_string(), TopicPartition::clone(of));
            self.said.contains(&word)
        };
        if matches!(intent.kind, IntentKind::Failed { .. }) && !handoff.unit.iter().any(|of| said(&of)) {
            self.expect(step, (&handoff.new, Word::WarmFailed, handoff), [at], findings);
        }
    }
}

/// The words that a handoff waits to hear from the new owner.
const fn new_owners_word(handoff: &Handoff) -> Word {
    match handoff.phase {
        Phase::CatchingUp => Word::CaughtUp,
        Phase::Complete => Word::Taken,
        _ => Word::Ready,
    }
}

/// The words that a handoff waits to hear from the old owner.
const fn old_owners_word(handoff: &Handoff) -> Word {
    match handoff.phase {
        Phase::Ready => Word::Rested,
        Phase::Draining => Word::Drained,
        _ => Word::Released,
    }
}

/// True if requests are held back from now on: an owner that is there and knows how is waited for until it rests.
fn was_to_rest(step: &Step<'_>, before: &Handoff, after: &Handoff) -> bool {
    let registered = step.before.registration_of(&before.old);
    let can_rest = registered.is_some_and(|consumer| consumer.capabilities.contains(&Capability::Rest));
    before.phase == Phase::Ready && after.phase == Phase::Freezing && can_rest
}

/// True if the old owner is told to stop because nobody sends to it any more.
fn froze(before: &Handoff, after: &Handoff) -> bool {
    before.mode == Mode::Routed
        && matches!(before.phase, Phase::Ready | Phase::Freezing)
        && after.phase == Phase::Draining
}

/// True if it went on by the old owner's word: an owner that is there is not passed over, unless it was fenced of the unit.
fn stopped(step: &Step<'_>, before: &Handoff, after: &Handoff) -> bool {
    before.phase == Phase::Draining
        && matches!(after.phase, Phase::CatchingUp | Phase::Complete)
        && step.before.presence(&before.old) == Presence::Here
        && !(before.is_fenced && step.leader_wrote())
}

/// True if it went on by what was said.
fn went_on(step: &Step<'_>, before: &Handoff, after: &Handoff) -> bool {
    let taken = before.taken.is_none() && after.taken.is_some() && !was_given_back(step, before, after);
    let ready = before.phase == Phase::Warming && after.phase == Phase::Ready;
    let caught_up = before.phase == Phase::CatchingUp && after.phase == Phase::Complete;
    ready || caught_up || taken
}

/// True if the leader gave the unit back in `overlap`: the parties change places, the old owner works as it did, and the
/// new one has still to let go. Nobody has said anything.
fn was_given_back(step: &Step<'_>, before: &Handoff, after: &Handoff) -> bool {
    let changed_places = after.new == before.old && after.old == before.new;
    changed_places && !before.mode.is_strict() && step.leader_wrote()
}

/// True if the leader fences the old owner of the unit with this very write.
fn is_fenced(step: &Step<'_>, handoff: &Handoff) -> bool {
    let (before, after) =
        (step.before.registration_of(&handoff.old), step.after.registration_of(&handoff.old));
    let is_new = before.zip(after).is_some_and(|(before, after)| before.fenced != after.fenced);
    let epoch = |at: &TopicPartition| after?.fenced_epoch(at);
    is_new && step.leader_wrote() && handoff.unit.iter().all(|at| epoch(at) >= handoff.old_epoch(at))
}

/// True if only the old owner's word may end a handoff: it was taken, both parties are there, and the unit is as it
/// was. In the strict modes the leader ends it at its deadline without that.
fn must_be_released(step: &Step<'_>, handoff: &Handoff) -> bool {
    let state: &GroupState = step.before;
    let may_be_overdue = handoff.mode.is_strict() && step.leader_wrote();
    let is_here = |member: &Member| state.presence(member) == Presence::Here;
    let stands = |at: &TopicPartition| {
        let owner = state.assignment(at).and_then(|a| a.owner.as_ref());
        let topic = state.topics().get(&at.topic).and_then(|entry| entry.last_good());
        owner.is_some_and(|owner| owner.is(&handoff.new))
            && topic.is_some_and(|t| at.partition < t.partitions)
    };
    handoff.phase == Phase::Complete
        && !may_be_overdue
        && !is_fenced(step, handoff)
        && (handoff.taken.is_some() || handoff.mode.is_strict())
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
        if let What::Said { by, word, handoff, of, .. } = &entry.what {
            self.said.insert((by.clone(), *word, handoff.clone(), of.clone()));
        }
    }
}
