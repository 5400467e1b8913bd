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
            "  {} records produced, {} lost, {} out of order, {} partitions with a wrong state",
            audit.produced, audit.lost, audit.out_of_order, audit.state_mismatches
        )?;
        writeln!(
            f,
            "  {} handled twice at a planned move, {} after a crash (at-least-once: expected)",
            audit.duplicated, audit.duplicated_after_crash
        )?;
        writeln!(
            f,
            "  {} moves; {} handoffs completed, {} cancelled; the leadership changed {} times",
            audit.moves, self.handoffs_completed, self.handoffs_cancelled, self.leader_changes
        )?;
        writeln!(f, "Longest time without a handled record, for each moved partition:")?;
        gap(f, "planned moves", &audit.gap_ms.planned, "records come every", self.record_interval_ms)?;
        gap(f, "after a kill", &audit.gap_ms.crash, "the session timeout is", self.session_timeout_ms)?;
        gap(
            f,
            "across a leader's death",
            &audit.gap_ms.leader_loss,
            "records come every",
            self.record_interval_ms,
        )
    }
}

fn gap(f: &mut fmt::Formatter<'_>, what: &str, spread: &Spread, beside: &str, millis: u64) -> fmt::Result {
    if spread.count == 0 {
        return writeln!(f, "  {what:<24} none");
    }
    writeln!(
        f,
        "  {what:<24} {:>4}x  p50 {:>7.1} ms   max {:>7.1} ms   ({beside} {millis} ms)",
        spread.count, spread.p50, spread.max
    )
}
