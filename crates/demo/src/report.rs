//! What a run came to, for programs and for people.

use std::fmt;

use kafka_assigner_ledger::{Audit, Spread};
use serde::Serialize;

/// The result of a run. The names are stable: programs read them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Records, duplicates, moves and gaps.
    #[serde(flatten)]
    pub audit: Audit,
    /// Handoffs that reached their new owner.
    pub handoffs_completed: usize,
    /// Handoffs that were cancelled.
    pub handoffs_cancelled: usize,
    /// How often another instance led.
    pub leader_changes: usize,
    /// The time between two records of one partition.
    pub record_interval_ms: u64,
    /// How long a dead consumer keeps its partitions.
    pub session_timeout_ms: u64,
    /// The seed that repeats the choices of this run.
    pub seed: u64,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, from the start of the run.
    pub at_ms: u64,
    /// What kind of thing.
    pub event: &'static str,
    /// The same in words.
    pub text: String,
}

impl Report {
    /// Whether nothing was lost, nothing out of order, and every state right.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.audit.lost == 0 && self.audit.out_of_order == 0 && self.audit.state_mismatches == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let audit = &self.audit;
        let verdict = if self.is_clean() { "Nothing was lost." } else { "SOMETHING WENT WRONG." };
        writeln!(f, "{verdict}")?;
        writeln!(
            f,
            "  {} records produced, {} lost, {} out of order",
            audit.produced, audit.lost, audit.out_of_order
        )?;
        writeln!(f, "  {} partitions whose owner's state is wrong", audit.state_mismatches)?;
        writeln!(
            f,
            "  {} handled twice at a move, {} after a crash (at-least-once: expected)",
            audit.duplicated, audit.duplicated_after_crash
        )?;
        writeln!(
            f,
            "  {} moves: {} handoffs completed, {} cancelled; leader changes: {}",
            audit.moves, self.handoffs_completed, self.handoffs_cancelled, self.leader_changes
        )?;
        let (record, session) = (self.record_interval_ms, self.session_timeout_ms);
        writeln!(f, "Longest time without a handled record, for each moved partition")?;
        writeln!(f, "(records come every {record} ms; the session timeout is {session} ms):")?;
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

    #[test]
    fn the_summary_fits_a_terminal_of_eighty_columns() {
        let spread = Spread { count: 9_999, p50: 99_999.0, p99: 99_999.0, max: 99_999.0 };
        let mut audit = Audit { produced: 9_999_999, duplicated: 99_999, ..Audit::default() };
        audit.gap_ms.planned = spread;
        let report = Report {
            audit,
            handoffs_completed: 9_999,
            handoffs_cancelled: 9_999,
            leader_changes: 99,
            record_interval_ms: 1_000,
            session_timeout_ms: 10_000,
            seed: 0,
            events: Vec::new(),
        };
        let text = report.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("Nothing was lost."));
    }
}
