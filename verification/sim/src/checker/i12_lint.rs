//! I12: no pass of a leader breaks an invariant of the core's lint pass, written or not.

use super::{Findings, Invariant};
use crate::history::{Entry, What};

#[derive(Debug)]
pub(super) struct Lint;

impl Invariant for Lint {
    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        if let What::Linted { instance, violation } = &entry.what {
            findings.report(entry.at, format!("{instance} decided: {violation}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pass_that_breaks_an_invariant_is_a_violation() {
        let what = What::Linted { instance: "i1-1".into(), violation: "OneOwner".to_owned() };
        let mut findings = Findings::default();
        Lint.entry(&Entry { at: Duration::from_secs(3), what }, &mut findings);
        assert_eq!(findings.0.len(), 1);
        assert_eq!(findings.0[0], (Duration::from_secs(3), "i1-1 decided: OneOwner".to_owned()));
    }
}
