//! The result of a run, for programs and for people.

use std::fmt;

use kafka_assigner_audit::requests::Requests;
use kafka_assigner_audit::{Audit, Spread};
use kafka_assigner_types::mode::Mode;
use serde::Serialize;

/// The result of a run. The names are stable: programs read them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The group's mode.
    pub mode: String,
    /// Records, duplicates, moves and gaps.
    #[serde(flatten)]
    pub audit: Audit,
    /// In the mode routed: the requests and their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Handoffs that reached their new owner.
    pub handoffs_completed: usize,
    /// Handoffs that were cancelled.
    pub handoffs_cancelled: usize,
    /// The number of leader changes.
    pub leader_changes: usize,
    /// Partitions that were on the move when the leader was killed, over all such kills.
    pub moving_at_leader_kills: usize,
    /// The time between two records of one partition.
    pub record_interval_ms: u64,
    /// The session timeout: for so long a dead consumer keeps its partitions.
    pub session_timeout_ms: u64,
    /// The seed that repeats the choices of this run.
    pub seed: u64,
    /// The events, in order.
    pub events: Vec<RunEvent>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunEvent {
    /// The time from the start of the run.
    pub at_ms: u64,
    /// The kind of the event.
    pub event: &'static str,
    /// The same in words.
    pub text: String,
}

impl RunReport {
    /// Returns true if nothing was lost or out of order, and every state is right; and in the stricter modes, if there
    /// was one owner at a time, and nothing handled twice by its move.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let audit = &self.audit;
        let is_whole = audit.lost == 0 && audit.out_of_order == 0 && audit.state_mismatches == 0;
        let is_kept = self.requests.as_ref().is_none_or(Requests::is_kept);
        is_whole && is_kept && (!self.is_strict() || (audit.two_owner_ms <= 0.0 && audit.duplicated == 0))
    }

    fn work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let audit = &self.audit;
        let Some(requests) = &self.requests else {
            return writeln!(
                f,
                "  {} records produced, {} lost, {} out of order",
                audit.produced, audit.lost, audit.out_of_order
            );
        };
        let (planned, crash) = (&requests.request_ms, &requests.request_ms_crash);
        writeln!(
            f,
            "  {} requests acknowledged, {} of them lost, {} counted twice",
            requests.acknowledged, requests.acknowledged_lost, requests.counted_twice
        )?;
        writeln!(
            f,
            "  {} failed at a planned move, {} while a dead writer was waited for",
            requests.failed_requests_planned, requests.failed_requests_crash
        )?;
        writeln!(
            f,
            "  answered after p50 {:.1} ms, p99 {:.1} ms; at most {:.1} ms, {:.1} ms at a death",
            planned.p50, planned.p99, planned.max, crash.max
        )
    }

    fn is_strict(&self) -> bool {
        self.mode.parse().is_ok_and(Mode::is_strict)
    }

    /// The counts of records that were handled twice, and of two owners at one time.
    fn owners(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Audit { duplicated, duplicated_after_crash, two_owner_ms, .. } = &self.audit;
        if !self.is_strict() {
            return writeln!(
                f,
                "  {duplicated} handled twice at a move, {duplicated_after_crash} after a crash \
                 (at-least-once: expected)"
            );
        }
        writeln!(
            f,
            "  {duplicated} handled twice at a move, {duplicated_after_crash} after a crash (expected)"
        )?;
        writeln!(f, "  {two_owner_ms} ms with two owners of a partition")
    }
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let audit = &self.audit;
        let verdict = if self.is_clean() { "Nothing was lost." } else { "SOMETHING WENT WRONG." };
        writeln!(f, "{verdict}")?;
        self.work(f)?;
        writeln!(f, "  {} partitions whose owner's state is wrong", audit.state_mismatches)?;
        self.owners(f)?;
        writeln!(
            f,
            "  {} moves: {} handoffs completed, {} cancelled; leader changes: {}",
            audit.moves, self.handoffs_completed, self.handoffs_cancelled, self.leader_changes
        )?;
        writeln!(
            f,
            "  {} partitions were on the move when the leader was killed",
            self.moving_at_leader_kills
        )?;
        let (record, session) = (self.record_interval_ms, self.session_timeout_ms);
        let load = if self.requests.is_some() {
            "requests come all the time".to_owned()
        } else {
            format!("records come every {record} ms")
        };
        writeln!(f, "Longest time without a handled record, for each moved partition")?;
        writeln!(f, "({load}; the session timeout is {session} ms):")?;
        gap(f, "planned moves", &audit.gap_ms.planned)?;
        gap(f, "after a kill", &audit.gap_ms.crash)?;
        gap(f, "across a leader's death", &audit.gap_ms.leader_loss)
    }
}

fn gap(f: &mut fmt::Formatter<'_>, what: &str, spread: &Spread) -> fmt::Result {
    if spread.count == 0 {
        return writeln!(f, "  {what:<24} none");
    }
    writeln!(f, "  {what:<24} {:>4}x  p50 {:>7.1} ms  max {:>7.1} ms", spread.count, spread.p50, spread.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large(mode: Mode) -> RunReport {
        let spread = Spread { count: 9_999, p50: 99_999.0, p99: 99_999.0, max: 99_999.0 };
        let mut audit = Audit { produced: 9_999_999, duplicated_after_crash: 99_999, ..Audit::default() };
        audit.gap_ms.planned = spread;
        RunReport {
            mode: mode.to_string(),
            audit,
            requests: None,
            handoffs_completed: 9_999,
            handoffs_cancelled: 9_999,
            leader_changes: 99,
            moving_at_leader_kills: 9_999,
            record_interval_ms: 1_000,
            session_timeout_ms: 10_000,
            seed: 0,
            events: Vec::new(),
        }
    }

    #[test]
    fn the_summary_fits_a_terminal_of_eighty_columns() {
        for mode in Mode::ALL {
            let text = large(mode).to_string();
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.starts_with("Nothing was lost."));
            assert_eq!(text.contains("with two owners"), mode.is_strict(), "{text}");
        }
    }

    #[test]
    fn one_owner_at_a_time_is_asked_of_the_stricter_modes_only() {
        let spoil: [fn(&mut Audit); 2] = [|audit| audit.two_owner_ms = 0.1, |audit| audit.duplicated = 1];
        for spoil in spoil {
            for mode in Mode::ALL {
                let mut report = large(mode);
                spoil(&mut report.audit);
                assert_eq!(report.is_clean(), !mode.is_strict(), "{report}");
            }
        }
    }
}
