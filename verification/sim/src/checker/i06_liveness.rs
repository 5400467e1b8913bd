//! I6: once faults are over every handoff ends, the plan reaches its fixed point, and nothing moves any more.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::state::GroupState;

use super::{Findings, Invariant};
use crate::history::{Entry, What};

#[derive(Debug, Default)]
pub(super) struct Liveness {
    settled: bool,
}

impl Invariant for Liveness {
    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Settled => self.settled = true,
            What::Restless { because } => {
                self.settled = true;
                findings.report(entry.at, format!("no rest after the faults: {because}"));
            }
            _ => {}
        }
    }

    fn finish(&mut self, end: Duration, _state: &Arc<GroupState>, findings: &mut Findings) {
        if !self.settled {
            findings.report(end, "the world ended before it came to rest");
        }
    }
}
