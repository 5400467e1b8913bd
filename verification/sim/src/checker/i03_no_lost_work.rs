//! I3: in the strict modes a new owner starts where the old one stopped, or at the committed offset where nobody told.
//!
//! Each process that stops says an offset that nobody else says. Whoever is told an offset to start from is told the last
//! one that was said of that partition, or has held the partition's run since and starts where it was told before.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::id::{Offset, TopicPartition};

use super::{Findings, Invariant};
use crate::history::{Entry, What};

#[derive(Debug, Default)]
pub(super) struct NoLostWork {
    places: BTreeMap<TopicPartition, Place>,
}

#[derive(Debug, Default)]
struct Place {
    /// What was said since somebody last started from something that was said: one of it counts.
    said: BTreeSet<Offset>,
    started: Option<Offset>,
}

impl Invariant for NoLostWork {
    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Stopped { at, offset, .. } => {
                self.places.entry(at.clone()).or_default().said.insert(*offset);
            }
            What::Started { process, at, offset: Some(offset) } => {
                let place = self.places.entry(at.clone()).or_default();
                if place.started != Some(*offset) && !place.said.contains(offset) {
                    let what = format!("process {process} starts {at} from {offset}, which is over");
                    findings.report("I3", entry.at, what);
                }
                if place.started != Some(*offset) {
                    place.said.clear();
                    place.started = Some(*offset);
                }
            }
            _ => {}
        }
    }
}
