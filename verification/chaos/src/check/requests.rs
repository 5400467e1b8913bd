//! The check that callers got true answers.

use kafka_assigner_audit::requests::{Asked, Written, judge, wrong_states};

use super::{Findings, Run};
use std::collections::BTreeMap;

/// The requests of callers with their answers, and the contents of the log.
#[derive(Debug, Default)]
pub(crate) struct Requested {
    /// The requests.
    pub(crate) asked: Asked,
    /// The additions that count.
    pub(crate) log: BTreeMap<i32, Vec<Written>>,
}

impl Run {
    /// No request has to succeed while everything is disturbed, but what was acknowledged has to be there.
    pub(super) fn judge_requests(&self, requested: &Requested, findings: &mut Findings) {
        let Requested { asked, log } = requested;
        let requests = judge(asked, log, &[]);
        findings.figures.acknowledged = requests.acknowledged;
        findings.figures.acknowledged_lost = requests.acknowledged_lost;
        findings.figures.refused = self.judged.len() - self.applied().count();
        let none_of = [
            (requests.acknowledged_lost, "acknowledged requests lost"),
            (requests.counted_twice, "requests counted twice"),
            (requests.wrong_answers, "wrong answers"),
            (requests.requests_out_of_order, "requests out of order"),
            (wrong_states(asked, log), "partitions with a wrong state"),
        ];
        let broken = none_of.iter().filter(|(count, _)| *count > 0);
        findings.violations.extend(broken.map(|(count, what)| format!("{count} {what}")));
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_audit::requests::Acknowledged;
    use kafka_assigner_types::id::{Epoch, Offset};

    use super::*;

    fn requested(numbers: &[u64]) -> Requested {
        let (caller, key) = ("c".to_owned(), "k".to_owned());
        let acknowledged = |n| Acknowledged {
            caller: caller.clone(),
            number: n,
            key: key.clone(),
            total: n,
            begun: 0,
            ended: 0,
        };
        let written = |number: &u64| Written {
            offset: Offset::ZERO,
            epoch: Epoch(1),
            caller: caller.clone(),
            number: *number,
            key: key.clone(),
            amount: 1,
        };
        let totals = BTreeMap::from([(key.clone(), 2)]);
        let asked =
            Asked { acknowledged: vec![acknowledged(1), acknowledged(2)], failed: Vec::new(), totals };
        Requested { asked, log: BTreeMap::from([(0, numbers.iter().map(written).collect())]) }
    }

    #[test]
    fn what_was_acknowledged_has_to_be_in_the_log_once() {
        let findings = |numbers: &[u64]| {
            let mut findings = Findings::default();
            Run::default().judge_requests(&requested(numbers), &mut findings);
            (findings.figures.acknowledged_lost, findings.violations.len())
        };
        assert_eq!(findings(&[1, 2]), (0, 0));
        // Beside what is lost or twice, the state differs from the log.
        assert_eq!(findings(&[1]), (1, 2));
        assert_eq!(findings(&[1, 2, 2]), (0, 2));
    }
}
