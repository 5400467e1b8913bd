//! How figures are told: one JSON object a line, or a line of a table.

use std::fmt;
use std::time::Duration;

use kafka_assigner_audit::Spread;
use serde::Serialize;

use crate::check::Figures;
use crate::event::{Done, Event};
use crate::stage::Stage;
use crate::system::System;

/// What one event came to in one system. The names are stable: programs read them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    system: &'static str,
    event: &'static str,
    /// Members at the beginning of the group, and partitions.
    members: usize,
    partitions: i32,
    /// How long the state of a partition takes to rebuild; 0 where there is none.
    state_ms: u128,
    /// How often something was done to the group; the figures are of all of it.
    steps: usize,
    /// Partitions that went to a member of another name, each counted once.
    moved: usize,
    /// How often that was.
    moves: usize,
    /// How often it was with the partition that moved most.
    most_moves: usize,
    gap_ms: Gap,
    first_record_ms: Middle,
    duplicated: usize,
    lost: usize,
    stall_ms: Middle,
    /// What stalls are while nothing is done, measured on the same group before its first event.
    calm_stall_ms: Middle,
    unowned_partition_s: f64,
    /// The longest that somebody took to leave, from the signal to the end of the process; none where nobody left.
    leave_ms: Option<f64>,
    /// Whether everybody had their share in time after each step. Where not, the figures tell only what came till then.
    settled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Gap {
    p50: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Middle {
    p50: f64,
    max: f64,
}

impl From<Spread> for Gap {
    fn from(spread: Spread) -> Self {
        Self { p50: tenths(spread.p50), p99: tenths(spread.p99), max: tenths(spread.max) }
    }
}

impl From<Spread> for Middle {
    fn from(spread: Spread) -> Self {
        Self { p50: tenths(spread.p50), max: tenths(spread.max) }
    }
}

/// Nothing here is exact to more than that.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn millis(duration: Duration) -> f64 {
    tenths(duration.as_secs_f64() * 1_000.0)
}

impl Row {
    /// The row of an event; `calm` are the stalls of its group while nothing was done.
    pub(crate) fn new(
        system: &System,
        stage: &Stage,
        event: Event,
        done: &Done,
        figures: &Figures,
        calm: Spread,
    ) -> Self {
        Self {
            system: system.name,
            event: event.name(),
            members: stage.size.members,
            partitions: stage.size.partitions,
            state_ms: stage.rebuild.as_millis(),
            steps: done.steps.len(),
            moved: figures.moved,
            moves: figures.moves,
            most_moves: figures.most_moves,
            gap_ms: figures.gaps.into(),
            first_record_ms: figures.first_records.into(),
            duplicated: figures.duplicated,
            lost: figures.lost,
            stall_ms: figures.stalls.into(),
            calm_stall_ms: calm.into(),
            unowned_partition_s: tenths(figures.unowned.as_secs_f64()),
            leave_ms: done.departures.iter().max().copied().map(millis),
            settled: done.unsettled == 0,
        }
    }
}

/// The head of the table; times are in milliseconds, but for those in which partitions were unowned.
pub(crate) const HEAD: &str = "\
system             event              size     state  moved moves/most      gap p50     p99     max   first p50     max   twice   \
lost   stall p50     max   unowned s   leave";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, event, state_ms, moved, moves, most_moves, duplicated, lost, .. } = self;
        let size = format!("{}/{}", self.members, self.partitions);
        write!(
            f,
            "{system:<18} {event:<18} {size:<7} {state_ms:>5}  {moved:>5} {moves:>5}/{most_moves:<4}    "
        )?;
        write!(f, "{:>8.1} {:>7.1} {:>7.1}", self.gap_ms.p50, self.gap_ms.p99, self.gap_ms.max)?;
        write!(f, "    {:>8.1} {:>7.1}", self.first_record_ms.p50, self.first_record_ms.max)?;
        write!(f, " {duplicated:>7} {lost:>6}")?;
        write!(f, "    {:>8.1} {:>7.1}", self.stall_ms.p50, self.stall_ms.max)?;
        write!(f, "   {:>9.1}", self.unowned_partition_s)?;
        write!(f, " {:>7}", self.leave_ms.map_or_else(|| "-".to_owned(), |leave| format!("{leave:.0}")))?;
        f.write_str(if self.settled { "" } else { "  (did not settle)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::QUICK;
    use crate::system::chosen;

    fn row(unsettled: usize) -> Row {
        let done = Done { unsettled, departures: vec![Duration::from_micros(1_234)], ..Done::default() };
        let figures = Figures {
            moved: 2,
            moves: 3,
            gaps: Spread { count: 3, p50: 1.25, p99: 2.0, max: 3.0 },
            ..Figures::default()
        };
        let system = chosen(&[], true).unwrap()[0];
        Row::new(&system, &QUICK[0], Event::Leave, &done, &figures, Spread::default())
    }

    #[test]
    fn programs_find_the_names_that_they_know() {
        let told = serde_json::to_value(row(0)).unwrap();
        assert_eq!((&told["event"], &told["moved"], &told["moves"]), (&"leave".into(), &2.into(), &3.into()));
        assert_eq!(told["gap_ms"], serde_json::json!({"p50": 1.3, "p99": 2.0, "max": 3.0}));
        for name in ["first_record_ms", "stall_ms", "calm_stall_ms"] {
            assert_eq!(told[name], serde_json::json!({"p50": 0.0, "max": 0.0}));
        }
        for name in [
            "system",
            "members",
            "partitions",
            "steps",
            "duplicated",
            "lost",
            "state_ms",
            "unowned_partition_s",
        ] {
            assert!(told.get(name).is_some(), "{name}");
        }
        assert_eq!(told["leave_ms"], 1.2);
    }

    #[test]
    fn a_group_that_did_not_settle_is_said_plainly() {
        assert!(row(1).to_string().ends_with("(did not settle)"));
        assert!(!row(0).to_string().contains("settle"));
    }
}
