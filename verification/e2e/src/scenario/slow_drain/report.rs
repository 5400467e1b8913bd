//! The report of records that take long.

use std::time::Duration;

use kafka_assigner_audit::Micros;
use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::scenario::moves::GroupHistory;
use crate::scenario::report::{ScenarioReport, broken, millis};
use crate::scenario::sink::{Effect, times};

/// The longest that a stop may take with a consumer's defaults, in milliseconds, whatever is in the works: what Kubernetes
/// grants.
const LONGEST_STOP_MS: u64 = 30_000;

/// The result of all groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SlowDrainReport {
    /// A group of each mode.
    pub(crate) cases: Vec<SlowDrainCase>,
    /// The longest that a move may take, in milliseconds.
    #[serde(skip)]
    pub(crate) longest_move_ms: u64,
}

/// The result of one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SlowDrainCase {
    /// What the group promises.
    pub(crate) mode: Mode,
    /// Records that nobody handled.
    pub(crate) lost: usize,
    /// Records that were handled more than once.
    pub(crate) duplicated: usize,
    /// Sessions that were ended or ran out; those that left are none.
    pub(crate) sessions_ended: usize,
    /// Planned moves.
    pub(crate) moves: usize,
    /// Those that reached their new owner, and of which the old one has let go.
    pub(crate) moves_ended: usize,
    /// Handoffs: more than moves where some were cancelled and tried again.
    pub(crate) attempts: usize,
    /// Moves that went back to the old owner because the new one never worked.
    pub(crate) given_back: usize,
    /// Consumers that were passed over for a partition.
    pub(crate) avoided: usize,
    /// The longest move, from its first attempt.
    pub(crate) longest_move_ms: u64,
    /// From SIGTERM to the end of the process.
    pub(crate) stop_ms: u64,
}

impl SlowDrainCase {
    /// Adds up what happened to the group until `now`.
    pub(crate) fn count(mode: Mode, history: &GroupHistory, now: Micros, stop: Duration) -> Self {
        let longest = history.all().map(|one| one.lasted(now)).max().unwrap_or_default();
        Self {
            mode,
            lost: 0,
            duplicated: 0,
            sessions_ended: history.sessions_ended,
            moves: history.all().count(),
            moves_ended: history.all().filter(|one| one.ended.is_some()).count(),
            attempts: history.all().map(|one| one.attempts).sum(),
            given_back: history.given_back,
            avoided: history.avoided,
            longest_move_ms: millis(longest),
            stop_ms: millis(stop),
        }
    }

    /// The same, with what became of the records `supplied`.
    pub(crate) fn with_records(self, supplied: &[u64], effects: &[Effect]) -> Self {
        let times = times(effects);
        let lost = supplied.iter().filter(|id| !times.contains_key(id)).count();
        Self { lost, duplicated: times.values().filter(|times| **times > 1).count(), ..self }
    }

    fn failures(&self, longest_move_ms: u64) -> Vec<String> {
        let none_of = [
            (self.lost, "records lost"),
            (self.sessions_ended, "sessions ended"),
            (self.given_back, "moves given back"),
            (self.avoided, "consumers passed over"),
        ];
        let none_of = none_of.map(|(count, what)| (count > 0, format!("{count} {what}")));
        let rules = [
            (self.moves == 0, "nothing moved".to_owned()),
            (self.moves_ended < self.moves, format!("{} of {} moves ended", self.moves_ended, self.moves)),
            (
                self.longest_move_ms > longest_move_ms,
                format!("a move took {} ms, and {longest_move_ms} are the most", self.longest_move_ms),
            ),
            (
                self.stop_ms > LONGEST_STOP_MS,
                format!("a stop took {} ms, and {LONGEST_STOP_MS} are the most", self.stop_ms),
            ),
        ];
        let broken = broken(none_of.into_iter().chain(rules)).into_iter();
        broken.map(|text| format!("{}: {text}", self.mode)).collect()
    }
}

impl ScenarioReport for SlowDrainReport {
    fn heads(&self) -> Vec<&'static str> {
        vec![
            "MODE", "LOST", "TWICE", "ENDED", "MOVES", "DONE", "TRIES", "BACK", "AVOID", "LONGEST", "STOP ms",
        ]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &SlowDrainCase| {
            let counts = [
                case.lost,
                case.duplicated,
                case.sessions_ended,
                case.moves,
                case.moves_ended,
                case.attempts,
                case.given_back,
                case.avoided,
            ];
            let counts = counts.iter().map(ToString::to_string);
            let times = [case.longest_move_ms, case.stop_ms].map(|ms| ms.to_string());
            std::iter::once(case.mode.to_string()).chain(counts).chain(times).collect()
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let missing = Mode::ALL.into_iter().filter(|mode| self.cases.iter().all(|case| case.mode != *mode));
        let missing = missing.map(|mode| format!("{mode}: was not played"));
        self.cases.iter().flat_map(|case| case.failures(self.longest_move_ms)).chain(missing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::sink::Deed;

    const LONGEST_MOVE_MS: u64 = 85_000;

    fn good(mode: Mode) -> SlowDrainCase {
        SlowDrainCase {
            mode,
            lost: 0,
            duplicated: 3,
            sessions_ended: 0,
            moves: 4,
            moves_ended: 4,
            attempts: 5,
            given_back: 0,
            avoided: 0,
            longest_move_ms: LONGEST_MOVE_MS,
            stop_ms: LONGEST_STOP_MS,
        }
    }

    fn all() -> SlowDrainReport {
        SlowDrainReport { cases: Mode::ALL.map(good).into(), longest_move_ms: LONGEST_MOVE_MS }
    }

    #[test]
    fn every_rule_is_held_against_the_report() {
        assert_eq!(all().failures(), Vec::<String>::new());
        let spoil: [fn(&mut SlowDrainCase); 8] = [
            |case| case.lost = 1,
            |case| case.sessions_ended = 1,
            |case| case.given_back = 1,
            |case| case.avoided = 1,
            |case| case.moves_ended = 3,
            |case| case.longest_move_ms = LONGEST_MOVE_MS + 1,
            |case| case.stop_ms = LONGEST_STOP_MS + 1,
            |case| (case.moves, case.moves_ended) = (0, 0),
        ];
        for spoil in spoil {
            let mut report = all();
            spoil(&mut report.cases[1]);
            assert_eq!(report.failures().len(), 1, "{report:?}");
        }
        assert_eq!(SlowDrainReport { cases: vec![good(Mode::Routed)], ..all() }.failures().len(), 2);
    }

    #[test]
    fn lost_is_what_nobody_handled_and_twice_what_was_handled_again() {
        let effect = |id: u64, deed: fn(u64) -> Deed| Effect {
            process: "a#1".to_owned(),
            partition: 0,
            epoch: 1,
            at: 1,
            deed: deed(id),
        };
        let handled = |id| effect(id, |id| Deed::Handled { id, offset: 0 });
        let effects = [handled(1), effect(2, |id| Deed::Begun { id }), handled(3), handled(3)];
        let case = good(Mode::Overlap).with_records(&[1, 2, 3], &effects);
        assert_eq!((case.lost, case.duplicated), (1, 1));
    }
}
