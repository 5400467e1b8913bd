//! I2: a partition's epoch rises with every change of its owner, and never falls; no epoch works in two processes.

use std::collections::BTreeMap;

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
    holders: BTreeMap<(TopicPartition, Epoch), u32>,
}

impl Invariant for Epochs {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        for at in step.assignments() {
            let Some(next) = grant(step.after, at) else { continue };
            if let Some(last) = self.last.get(at).filter(|last| !follows(last, &next)) {
                let what = format!("{at} went from {last:?} to {next:?}");
                findings.report("I2", step.at, what);
            }
            self.last.insert(at.clone(), next);
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        let What::Began { process, consumer, at, epoch } = &entry.what else { return };
        let holder = *self.holders.entry((at.clone(), *epoch)).or_insert(*process);
        if holder != *process {
            let what = format!("{consumer} works on {at} under epoch {epoch}, as process {holder} did");
            findings.report("I2", entry.at, what);
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
