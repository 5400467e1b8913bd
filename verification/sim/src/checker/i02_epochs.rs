//! I2: a partition's epoch rises with every change of its owner, and never falls; no epoch works in two processes,
//! also where the store went back and a grant is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::record::Owner;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

/// The last grant that a partition had; it is remembered beyond the record.
#[derive(Debug)]
struct Grant {
    /// Its epoch, or the one that is reserved above it.
    epoch: Epoch,
    /// The epoch that its owner holds.
    held: Epoch,
    owner: Option<Member>,
}

#[derive(Debug, Default)]
pub(super) struct Epochs {
    last: BTreeMap<TopicPartition, Grant>,
    /// The highest epochs of the histories that the store has lost: sinks and Kafka have seen them.
    lost: BTreeMap<TopicPartition, Epoch>,
    holders: BTreeMap<(TopicPartition, Epoch), u32>,
    /// Grants that promise one owner at a time, with what sinks have seen of them: the highest epoch that has worked.
    strict: BTreeSet<(TopicPartition, Epoch)>,
    seen: BTreeMap<TopicPartition, Epoch>,
}

impl Epochs {
    /// The fault of a grant that is none of the backup, and not above all that were lost.
    fn falls(&self, at: &TopicPartition, next: &Grant) -> Option<String> {
        let is_old = self.last.get(at).is_some_and(|last| last.held == next.held);
        let lost = self.lost.get(at).filter(|lost| !is_old && next.held <= **lost)?;
        Some(format!("{at} is granted as {next:?} though epoch {lost} was granted in a history that is lost"))
    }
}

impl Invariant for Epochs {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        for at in step.assignments() {
            let Some(next) = grant(step.after, at) else { continue };
            if let Some(last) = self.last.get(at).filter(|last| !follows(last, &next)) {
                let what = format!("{at} went from {last:?} to {next:?}");
                findings.report(step.at, what);
            }
            if let Some(what) = self.falls(at, &next) {
                findings.report(step.at, what);
            }
            if step.after.assignment(at).is_some_and(|assignment| assignment.mode.is_strict()) {
                self.strict.insert((at.clone(), next.held));
            }
            self.last.insert(at.clone(), next);
        }
    }

    /// Every record is as it was; what was granted since is lost and stays known to whoever saw it.
    fn went_back(&mut self, _at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        for (at, last) in &self.last {
            let lost = self.lost.entry(at.clone()).or_default();
            *lost = (*lost).max(last.epoch);
        }
        let all = state.assignments().keys();
        self.last = all.filter_map(|at| Some((at.clone(), grant(state, at)?))).collect();
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        let What::Began { process, consumer, at, epoch } = &entry.what else { return };
        let holder = *self.holders.entry((at.clone(), *epoch)).or_insert(*process);
        if holder != *process {
            let what = format!("{consumer} works on {at} under epoch {epoch}, as process {holder} did");
            findings.report(entry.at, what);
        }
        if self.strict.contains(&(at.clone(), *epoch)) {
            let seen = self.seen.entry(at.clone()).or_default();
            if *seen > *epoch {
                let what = format!("{consumer} works on {at} under epoch {epoch}, and {seen} has worked");
                findings.report(entry.at, what);
            }
            *seen = (*seen).max(*epoch);
        }
    }
}

fn grant(state: &GroupState, at: &TopicPartition) -> Option<Grant> {
    let assignment = &**state.assignments().get(at)?.readable()?;
    Some(Grant {
        epoch: assignment.highest_epoch(),
        held: assignment.held_epoch(),
        owner: assignment.owner.as_ref().map(Owner::member),
    })
}

fn follows(last: &Grant, next: &Grant) -> bool {
    let rises = next.epoch >= last.epoch && next.held >= last.held;
    rises && (next.held > last.held || next.owner == last.owner)
}
