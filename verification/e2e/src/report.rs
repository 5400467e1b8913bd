//! The result of a run.

use kafka_assigner_audit::requests::Requests;
use kafka_assigner_audit::{Audit, Spread};
use kafka_assigner_rig::round_trip::RoundTrip;
use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::scale::{GRACE, SESSION_TIMEOUT, Scale};

/// The result of a run. The names are those of the demonstration's report: programs read both.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    /// What the group promised.
    pub(crate) mode: String,
    /// Records, duplicates, moves and gaps.
    #[serde(flatten)]
    pub(crate) audit: Audit,
    /// What callers were told, in the mode routed.
    #[serde(flatten)]
    pub(crate) requests: Option<Requests>,
    /// Records that a consumer handled under an epoch that was over, after it had been frozen.
    pub(crate) stale: usize,
    /// Handoffs that reached their new owner.
    pub(crate) handoffs_completed: usize,
    /// Handoffs that were cancelled.
    pub(crate) handoffs_cancelled: usize,
    /// How often another instance led.
    pub(crate) leader_changes: usize,
    /// The time between two records of one partition.
    pub(crate) record_interval_ms: u128,
    /// Waits for records of partitions that stay with their owners, beyond the interval: what the machine takes.
    pub(crate) calm_ms: Spread,
    /// What etcd and Kafka took for an answer; a move in a strict mode waits for several.
    pub(crate) round_trip_ms: RoundTrip,
    /// How long a dead consumer keeps its partitions.
    pub(crate) session_timeout_ms: u128,
    /// What etcd says it is.
    pub(crate) etcd_version: String,
    /// What Kafka says it is.
    pub(crate) kafka_version: String,
    /// What happened, in order.
    pub(crate) events: Vec<Event>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Event {
    /// When, from the start of the run.
    pub(crate) at_ms: u128,
    /// What kind of thing.
    pub(crate) event: &'static str,
    /// The same in words.
    pub(crate) text: String,
}

impl Report {
    /// What should have been otherwise.
    pub(crate) fn failures(&self, scale: &Scale) -> Vec<String> {
        let audit = &self.audit;
        let none_of = [
            (audit.lost, "records lost"),
            (audit.out_of_order, "records out of order"),
            (audit.state_mismatches, "partitions with a wrong state"),
            (self.stale, "records handled under an epoch that was over"),
        ];
        let mut failures: Vec<String> = none_of
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let planned = &audit.gap_ms.planned;
        let mode: Mode = self.mode.parse().unwrap_or_default();
        failures.extend(self.two_owners().into_iter().filter(|_| mode.is_strict()));
        failures.extend(match mode {
            Mode::Exclusive | Mode::Overlap => self.long_gaps(),
            Mode::Routed => self.broken_promises(scale),
        });
        if planned.count < scale.planned_moves {
            failures.push(format!("{} of {} planned moves", planned.count, scale.planned_moves));
        }
        if mode != Mode::Routed && (audit.produced as u64) < scale.records {
            failures.push(format!("{} of {} records", audit.produced, scale.records));
        }
        failures
    }

    /// What one owner at a time should have come to.
    fn two_owners(&self) -> Vec<String> {
        broken([
            (self.audit.duplicated > 0, format!("{} records handled twice", self.audit.duplicated)),
            (self.audit.two_owner_ms > 0.0, format!("{} ms with two owners", self.audit.two_owner_ms)),
        ])
    }

    /// A planned move that took as long as waiting for a dead owner was none. How far below that it stays is up to the
    /// machine, and told by `calm_ms` and `round_trip_ms` beside.
    fn long_gaps(&self) -> Vec<String> {
        let (longest, bound) = (self.audit.gap_ms.planned.max, SESSION_TIMEOUT + GRACE);
        let is_long = longest > bound.as_secs_f64() * 1_000.0;
        broken([(is_long, format!("a planned move left a gap of {longest} ms"))])
    }

    /// What callers should have been told.
    fn broken_promises(&self, scale: &Scale) -> Vec<String> {
        let Some(requests) = &self.requests else { return vec!["nothing was asked".to_owned()] };
        let none_of = [
            (requests.acknowledged_lost, "acknowledged requests lost"),
            (requests.counted_twice, "requests counted twice"),
            (requests.wrong_answers, "wrong answers"),
            (requests.requests_out_of_order, "requests out of order"),
            (requests.failed_requests_planned, "requests failed though no writer had died"),
        ];
        let few = (requests.acknowledged as u64) < scale.requests;
        let few = (few, format!("{} of {} requests", requests.acknowledged, scale.requests));
        broken(none_of.map(|(count, what)| (count > 0, format!("{count} {what}"))).into_iter().chain([few]))
    }
}

fn broken(rules: impl IntoIterator<Item = (bool, String)>) -> Vec<String> {
    rules.into_iter().filter_map(|(broken, text)| broken.then_some(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::FULL;

    fn good() -> Report {
        let mut audit = Audit { produced: 200_000, ..Audit::default() };
        audit.gap_ms.planned.count = 100;
        Report { audit, ..Report::default() }
    }

    #[test]
    fn one_owner_at_a_time_is_held_against_a_report_of_a_strict_mode_only() {
        let spoil: [fn(&mut Report); 2] =
            [|report| report.audit.duplicated = 1, |report| report.audit.two_owner_ms = 0.1];
        for spoil in spoil {
            for (mode, failures) in [("overlap", 0), ("exclusive", 1)] {
                let mut report = Report { mode: mode.to_owned(), ..good() };
                spoil(&mut report);
                assert_eq!(report.failures(&FULL).len(), failures, "{report:?}");
            }
        }
    }

    #[test]
    fn what_callers_were_told_is_held_against_a_report_of_the_mode_routed() {
        let routed = || {
            let requests = Requests { acknowledged: 50_000, ..Requests::default() };
            let mut report = Report { mode: "routed".to_owned(), requests: Some(requests), ..good() };
            // How long callers waited counts there, and requests in place of records.
            (report.audit.gap_ms.planned.max, report.audit.produced) = (7_000.1, 1);
            report
        };
        assert_eq!(routed().failures(&FULL), Vec::<String>::new());
        let spoil: [fn(&mut Audit, &mut Requests); 8] = [
            |audit, _| audit.duplicated = 1,
            |audit, _| audit.two_owner_ms = 0.1,
            |_, requests| requests.acknowledged_lost = 1,
            |_, requests| requests.counted_twice = 1,
            |_, requests| requests.wrong_answers = 1,
            |_, requests| requests.requests_out_of_order = 1,
            |_, requests| requests.failed_requests_planned = 1,
            |_, requests| requests.acknowledged = 49_999,
        ];
        for spoil in spoil {
            let mut report = routed();
            spoil(&mut report.audit, report.requests.as_mut().unwrap());
            assert_eq!(report.failures(&FULL).len(), 1, "{report:?}");
        }
        assert_eq!(Report { requests: None, ..routed() }.failures(&FULL).len(), 1);
    }

    #[test]
    fn a_slow_machine_breaks_no_rule() {
        for mode in ["overlap", "exclusive"] {
            let mut report = Report { mode: mode.to_owned(), ..good() };
            let planned = &mut report.audit.gap_ms.planned;
            (planned.p50, planned.p99, planned.max) = (29.0, 900.0, 7_000.0);
            assert_eq!(report.failures(&FULL), Vec::<String>::new());
        }
    }

    #[test]
    fn every_rule_is_held_against_the_report() {
        assert_eq!(good().failures(&FULL), Vec::<String>::new());
        let spoil: [fn(&mut Report); 7] = [
            |report| report.audit.lost = 1,
            |report| report.audit.out_of_order = 1,
            |report| report.audit.state_mismatches = 1,
            |report| report.stale = 1,
            |report| report.audit.gap_ms.planned.max = 7_000.1,
            |report| report.audit.gap_ms.planned.count = 99,
            |report| report.audit.produced = 199_999,
        ];
        for spoil in spoil {
            let mut report = good();
            spoil(&mut report);
            assert_eq!(report.failures(&FULL).len(), 1, "{report:?}");
        }
    }
}
