//! I1, as far as it concerns `overlap`: whoever was away for its session's time to live holds no claim when it
//! comes back.

use super::{Findings, Invariant};
use crate::history::{Entry, What};

#[derive(Debug)]
pub(super) struct Fencing;

impl Invariant for Fencing {
    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        if let What::Thawed { consumer, frozen, ttl, claims: true } = &entry.what
            && frozen >= ttl
        {
            let what =
                format!("{consumer} still claims after {frozen:?} without a step, its session has {ttl:?}");
            findings.report("I1", entry.at, what);
        }
    }
}
