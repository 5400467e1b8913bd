//! I1: in the strict modes no two processes work on one partition; and whoever was away for its session's time to live
//! holds no claim when it comes back.
//!
//! A process is held to the mode of the grant under which it began. Where a stranger revoked the lease of the one that
//! began first, nobody can know how long that one may act: such overlaps are forgiven, unless revocations are waited out.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::revoked::Revoked;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

/// Who works on one partition.
type Workers = BTreeMap<u32, Arc<str>>;

#[derive(Debug, Default)]
pub(super) struct SingleHolder {
    /// Grants in strict modes.
    strict: BTreeMap<(TopicPartition, Epoch), bool>,
    workers: BTreeMap<TopicPartition, Workers>,
    revoked: Revoked,
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
        if !self.strict.get(&(at.clone(), epoch)).copied().unwrap_or_default() {
            return;
        }
        let others = self.workers.entry(at.clone()).or_default();
        let other = others
            .iter()
            .find(|(number, other)| **number != process && !self.revoked.forgives(other, entry.at));
        if let Some((_, other)) = other {
            let what = format!("{consumer} works on {at} under epoch {epoch} beside {other}");
            findings.report("I1", entry.at, what);
        }
        others.insert(process, Arc::clone(consumer));
    }
}

impl Invariant for SingleHolder {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.revoked.step(step);
        for at in step.assignments() {
            if let Some(assignment) = step.after.assignment(at) {
                let is_strict = assignment.mode.is_strict();
                self.strict.insert((at.clone(), assignment.held_epoch()), is_strict);
            }
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.revoked.entry(entry);
        match &entry.what {
            What::Began { process, consumer, at, epoch } => {
                self.began(entry, (*process, consumer), at, *epoch, findings);
            }
            What::Ended { process, at, .. } => {
                self.workers.entry(at.clone()).or_default().remove(process);
            }
            What::Thawed { consumer, frozen, ttl, claims: true } if frozen >= ttl => {
                let what = format!(
                    "{consumer} still claims after {frozen:?} without a step, its session has {ttl:?}"
                );
                findings.report("I1", entry.at, what);
            }
            _ => {}
        }
    }
}
