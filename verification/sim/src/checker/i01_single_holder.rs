//! I1: in the strict modes no two processes work on one partition; and whoever was away for its session's time to live
//! holds no claim when it comes back.
//!
//! A process that begins under a strict grant is alone, whatever grant others began under; and so is the owner whose grant
//! has become a strict one, once that is confirmed. Where a stranger revoked the lease of the one that began first, nobody
//! can know how long that one may act: such overlaps are forgiven, unless revocations are waited out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::record::Assignment;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::revoked::Revoked;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

/// The processes that work on one partition.
type Workers = BTreeMap<u32, Arc<str>>;

/// A claim that is over is seen at the next look at all claims, a tenth of a second later at most.
const SEEN_BY: Duration = Duration::from_millis(150);

#[derive(Debug, Default)]
pub(super) struct SingleHolder {
    /// Grants in strict modes.
    strict: BTreeMap<(TopicPartition, Epoch), bool>,
    workers: BTreeMap<TopicPartition, Workers>,
    revoked: Revoked,
    switched: Vec<Switched>,
}

/// A grant that has become a strict one.
#[derive(Debug)]
struct Switched {
    at: TopicPartition,
    owner: String,
    since: Duration,
    /// Those who worked on it beside its owner then.
    beside: Workers,
}

impl SingleHolder {
    fn began(
        &mut self,
        entry: &Entry,
        (process, consumer): (u32, &Arc<str>),
        at: &TopicPartition,
        epoch: Epoch,
        findings: &mut Findings,
    ) {
        let is_strict = self.strict.get(&(at.clone(), epoch)).copied().unwrap_or_default();
        let others = self.workers.entry(at.clone()).or_default();
        let other = others
            .iter()
            .find(|(number, other)| **number != process && !self.revoked.forgives(other, entry.at));
        if let Some((_, other)) = other.filter(|_| is_strict) {
            let what = format!("{consumer} works on {at} under epoch {epoch} beside {other}");
            findings.report(entry.at, what);
        }
        others.insert(process, Arc::clone(consumer));
    }

    fn ended(&mut self, process: u32, at: &TopicPartition) {
        self.workers.entry(at.clone()).or_default().remove(&process);
        for switched in self.switched.iter_mut().filter(|switched| switched.at == *at) {
            switched.beside.remove(&process);
        }
    }

    fn note_switch(&mut self, now: Duration, at: &TopicPartition, after: &Assignment) {
        let Some(owner) = after.owner.as_ref().map(|owner| owner.name.to_string()) else { return };
        let workers = self.workers.get(at).into_iter().flatten();
        let beside = workers.filter(|(_, consumer)| ***consumer != *owner);
        let beside = beside.map(|(process, consumer)| (*process, Arc::clone(consumer))).collect();
        self.switched.push(Switched { at: at.clone(), owner, since: now, beside });
    }

    /// Judges the switches of some time ago.
    fn look(&mut self, now: Duration, findings: &mut Findings) {
        let is_due = |switched: &mut Switched| switched.since + SEEN_BY <= now;
        for Switched { at, owner, since, beside } in self.switched.extract_if(.., is_due) {
            for other in beside.values().filter(|other| !self.revoked.forgives(other, since)) {
                let what = format!("{at} is {owner}'s alone from now on, and {other} works on it");
                findings.report(since, what);
            }
        }
    }
}

/// True if the grant promises a single owner.
fn is_promised(assignment: &Assignment) -> bool {
    assignment.mode.is_strict() && assignment.switching.is_none()
}

impl Invariant for SingleHolder {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.revoked.step(step);
        for at in step.assignments() {
            let Some(after) = step.after.assignment(at) else { continue };
            self.strict.insert((at.clone(), after.held_epoch()), after.mode.is_strict());
            let before = step.before.assignment(at);
            let is_switch = before.is_some_and(|before| !is_promised(before) && before.owner == after.owner);
            if is_switch && is_promised(after) {
                self.note_switch(step.at, at, after);
            }
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.revoked.entry(entry);
        self.look(entry.at, findings);
        match &entry.what {
            What::Began { process, consumer, at, epoch } => {
                self.began(entry, (*process, consumer), at, *epoch, findings);
            }
            What::Ended { process, at, .. } => self.ended(*process, at),
            What::Thawed { consumer, frozen, ttl, claims: true } if frozen >= ttl => {
                let what = format!(
                    "{consumer} still claims after {frozen:?} without a step, its session has {ttl:?}"
                );
                findings.report(entry.at, what);
            }
            _ => {}
        }
    }
}
