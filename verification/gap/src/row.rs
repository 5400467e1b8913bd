//! The output of figures: one JSON object a line, or a line of a table.

use std::fmt;
use std::time::Duration;

use kafka_assigner_audit::Spread;
use kafka_assigner_rig::round_trip::RoundTrip;
use serde::Serialize;

use crate::check::Figures;
use crate::event::{Done, Event};
use crate::stage::Stage;
use crate::system::System;

/// The results of one event in one system. The names are stable: programs read them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    system: &'static str,
    event: &'static str,
    /// Members at the beginning of the group, and partitions.
    members: usize,
    partitions: i32,
    /// The time that the state of a partition takes to rebuild; 0 where there is none.
    state_ms: u128,
    /// The number of times that something was done to the group; the figures are of all of it.
    steps: usize,
    /// Partitions that went to a member of another name, each counted once.
    moved: usize,
    /// The number of times that one did so.
    moves: usize,
    /// The number of times for the partition that moved most.
    most_moves: usize,
    gap_ms: Gap,
    first_record_ms: Middle,
    duplicated: usize,
    lost: usize,
    stall_ms: Middle,
    /// The stalls while nothing is done, measured on the same group before its first event.
    calm_stall_ms: Middle,
    /// The medians of what etcd and Kafka took for an answer while the group lived.
    round_trip_ms: RoundTrip,
    /// The most that the middle of the gaps may be; none where there is no aim.
    gap_p50_aim_ms: Option<f64>,
    unowned_partition_s: f64,
    /// The longest that somebody took to leave, from the signal to the end of the process; none where nobody left.
    leave_ms: Option<f64>,
    /// True if everybody had their share in time after each step. Where not, the figures tell only what came till then.
    settled: bool,
}

/// The measurements of a group beside its events.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside {
    /// The stalls while nothing was done.
    pub(crate) calm: Spread,
    /// The times that etcd and Kafka took for an answer.
    pub(crate) round_trip: RoundTrip,
}

/// The time that a move in `exclusive` may take beyond the distance of two records and the answers it waits for:
/// messages, and the threads of three processes that take turns.
const SWITCH_MS: f64 = 10.0;

/// The answers of each server that a move in `exclusive` waits for, with one in reserve: a commit and a position of
/// Kafka's, and the transactions of two acknowledgements with what follows from them.
const ROUND_TRIPS: f64 = 4.0;

/// The longest gap that half of the moves of an event may leave.
fn aim(system: &System, stage: &Stage, event: Event, round_trip: RoundTrip) -> Option<f64> {
    let answers = ROUND_TRIPS * (round_trip.etcd + round_trip.kafka);
    (system.has_aim && event.is_planned()).then(|| tenths(millis(stage.size.interval) + SWITCH_MS + answers))
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
    /// The row of an event.
    pub(crate) fn new(
        system: &System,
        stage: &Stage,
        event: Event,
        done: &Done,
        figures: &Figures,
        beside: Beside,
    ) -> Self {
        let RoundTrip { etcd, kafka } = beside.round_trip;
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
            calm_stall_ms: beside.calm.into(),
            round_trip_ms: RoundTrip { etcd: tenths(etcd), kafka: tenths(kafka) },
            gap_p50_aim_ms: aim(system, stage, event, beside.round_trip),
            unowned_partition_s: tenths(figures.unowned.as_secs_f64()),
            leave_ms: done.departures.iter().max().copied().map(millis),
            settled: done.unsettled == 0,
        }
    }
}

impl Row {
    /// The aim that was missed, in words; none where it was met, or there is none.
    pub(crate) fn missed(&self) -> Option<String> {
        let (aim, p50) = (self.gap_p50_aim_ms?, self.gap_ms.p50);
        let Self { system, event, members, partitions, .. } = self;
        (p50 > aim).then(|| {
            format!("{system}, {event} ({members}/{partitions}): gap p50 {p50:.1} ms, aim {aim:.1} ms")
        })
    }
}

/// The head of the table; times are in milliseconds, but for those in which partitions were unowned.
pub(crate) const HEAD: &str = "\
system             event              size     state  moved moves/most      gap p50     p99     max   first p50     max   twice   \
lost   stall p50     max   unowned s   leave     aim";

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
        write!(f, " {:>7}", self.gap_p50_aim_ms.map_or_else(|| "-".to_owned(), |aim| format!("{aim:.1}")))?;
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
        Row::new(&system, &QUICK[0], Event::Leave, &done, &figures, Beside::default())
    }

    fn told(system: &str, event: Event, p50: f64) -> Row {
        let figures = Figures { gaps: Spread { count: 3, p50, ..Spread::default() }, ..Figures::default() };
        let system = chosen(&[system.to_owned()], true).unwrap()[0];
        let round_trip = RoundTrip { etcd: 1.5, kafka: 1.0 };
        let beside = Beside { round_trip, ..Beside::default() };
        Row::new(&system, &QUICK[0], event, &Done::default(), &figures, beside)
    }

    #[test]
    fn half_of_the_planned_moves_of_exclusive_may_take_what_they_wait_for() {
        // A record each 10 ms, 10 ms for the switch, four answers of 2.5 ms.
        let slow = told("exclusive", Event::Join, 30.1);
        assert_eq!(slow.gap_p50_aim_ms, Some(30.0));
        assert_eq!(slow.missed().unwrap(), "exclusive, join (4/60): gap p50 30.1 ms, aim 30.0 ms");
        assert_eq!(told("exclusive", Event::Join, 30.0).missed(), None);
        for (system, event) in [
            ("exclusive", Event::Kill),
            ("exclusive", Event::RollSameNames),
            ("overlap", Event::Join),
            ("kip-848", Event::Join),
        ] {
            assert_eq!(told(system, event, 5_000.0).missed(), None, "{system}, {event:?}");
        }
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
