//! The time for which an owner may still act after a stranger revoked its lease: nobody can promise an end of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Step;
use crate::fault::Fault;
use crate::history::{Entry, What};

/// No session of a world lives longer: what was revoked longer ago has run out as well.
const LONGEST_SESSION: Duration = Duration::from_secs(9);

/// Whose lease was revoked, and when.
#[derive(Debug, Default)]
pub(super) struct Revoked {
    leases: BTreeMap<String, Duration>,
    waits_out: bool,
}

impl Revoked {
    pub(super) fn step(&mut self, step: &Step<'_>) {
        self.waits_out = step.after.configured(|config| config.wait_out_revocations);
    }

    pub(super) fn entry(&mut self, entry: &Entry) {
        if let What::Happened { fault: Fault::LeaseRevoked, to } = &entry.what {
            self.leases.insert(to.clone(), entry.at);
        }
    }

    /// True if what `consumer` does beside its successor is forgiven; not where revocations are waited out.
    pub(super) fn forgives(&self, consumer: &str, now: Duration) -> bool {
        let is_late = |at: &Duration| now < *at + LONGEST_SESSION;
        !self.waits_out && self.leases.get(consumer).is_some_and(is_late)
    }
}
