//! I13: a session is taken over only by a mark that has stood for as long as it must, and never one that has a stream, or
//! had one within the time in which a living client has another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Consumer, DeathSign, Suspicion};
use kafka_assigner_core::state::{GroupState, Versioned};
use kafka_assigner_types::claim::span;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::name::MemberName;

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

/// A client that lives has a stream again, or is heard, within that time.
const REATTACHED: Duration = Duration::from_secs(4);

/// The streams that members have, the last ends of those, and the marks that stand.
#[derive(Debug, Default)]
pub(super) struct Living {
    streams: BTreeMap<u64, Member>,
    ended: BTreeMap<Member, Duration>,
    marks: BTreeMap<MemberName, (Suspicion, Duration)>,
    /// Sessions of a history that the store has lost: they are over, whatever a backup says of them.
    void: BTreeSet<Member>,
}

impl Living {
    fn look(&mut self, step: &Step<'_>, name: &MemberName, findings: &mut Findings) {
        let before = registration(step.before, name);
        let Some(after) = registration(step.after, name) else { return drop(self.marks.remove(name)) };
        let member = Member { name: name.clone(), incarnation: after.incarnation.clone() };
        let is_taken_over = step.after.is_taken_over(&member) && !step.before.is_taken_over(&member);
        if is_taken_over && let Some(fault) = self.fault(step, &member, before) {
            findings.report(step.at, format!("{member} was taken over: {fault}"));
        }
        match &after.suspected {
            Some(mark) if self.marks.get(name).is_none_or(|(known, _)| known != mark) => {
                self.marks.insert(name.clone(), (mark.clone(), step.at));
            }
            Some(_) => {}
            None => drop(self.marks.remove(name)),
        }
    }

    fn fault(&self, step: &Step<'_>, member: &Member, before: Option<&Consumer>) -> Option<String> {
        let marked = before.and_then(|consumer| consumer.suspected.as_ref());
        let Some((mark, since)) = self.marks.get(&member.name).filter(|(mark, _)| marked == Some(mark))
        else {
            return Some("no mark stood".to_owned());
        };
        let stood = step.at - *since;
        let least = match (&mark.sign, before) {
            // One who is heard elsewhere is heard within that time, and the mark goes.
            (DeathSign::Silent, Some(consumer)) => span(Duration::from_millis(consumer.ttl_ms)),
            _ => Duration::from_millis(step.before.configured(|config| config.takeover_after_ms)),
        };
        if stood < by_any_clock(least) {
            return Some(format!("the mark ({:?}) stood for {stood:?}", mark.sign));
        }
        if mark.sign != DeathSign::Detached || self.void.contains(member) {
            return None;
        }
        if self.streams.values().any(|attached| attached == member) {
            return Some("it has a stream".to_owned());
        }
        let detached = self.ended.get(member).map(|ended| step.at - *ended);
        let is_early = |detached: &Duration| *detached < by_any_clock(REATTACHED);
        detached.filter(is_early).map(|detached| format!("it had a stream {detached:?} ago"))
    }
}

/// The least that `span` may be: clocks of leaders are up to half a percent from the one by which things are noted here.
fn by_any_clock(span: Duration) -> Duration {
    span.mul_f64(0.99)
}

fn registration<'s>(state: &'s GroupState, name: &MemberName) -> Option<&'s Consumer> {
    state.registration(name).map(|registration: &Versioned<Consumer>| &**registration)
}

impl Invariant for Living {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        for (key, _) in step.changes {
            if let Key::Consumer(name) = key {
                self.look(step, name, findings);
            }
        }
    }

    fn went_back(&mut self, at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        self.void.extend(self.streams.values().cloned());
        self.marks.clear();
        for name in state.consumers().keys() {
            let Some(consumer) = registration(state, name) else { continue };
            self.void.insert(Member { name: name.clone(), incarnation: consumer.incarnation.clone() });
            let mark = consumer.suspected.clone().map(|mark| (name.clone(), (mark, at)));
            self.marks.extend(mark);
        }
    }

    fn entry(&mut self, entry: &Entry, _findings: &mut Findings) {
        match &entry.what {
            What::Attached { stream, member, .. } => drop(self.streams.insert(*stream, member.clone())),
            What::Detached { stream } => {
                if let Some(member) = self.streams.remove(stream) {
                    self.ended.insert(member, entry.at);
                }
            }
            _ => {}
        }
    }
}
