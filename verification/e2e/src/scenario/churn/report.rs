//! The report of consumers that come and go.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_audit::Micros;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::micros;
use serde::Serialize;

use crate::scenario::moves::GroupHistory;
use crate::scenario::report::{ScenarioReport, broken};
use crate::scenario::sink::{Effect, times};

/// A guest joins and leaves, again and again.
pub(super) const CHANGES: &str = "changes";
/// A consumer leaves while another one still takes over.
pub(super) const IN_A_ROW: &str = "in-a-row";
/// Each consumer is replaced.
pub(super) const ROLLING: &str = "rolling";

/// The cases, each with its mode.
const WANTED: [(&str, Mode); 5] = [
    (CHANGES, Mode::Overlap),
    (CHANGES, Mode::Exclusive),
    (IN_A_ROW, Mode::Overlap),
    (IN_A_ROW, Mode::Exclusive),
    (ROLLING, Mode::Exclusive),
];

/// A partition of which no record is handled for so long stands still, however busy the machine: records come every few
/// seconds, and the longest of them takes five.
const STANDS: Duration = Duration::from_secs(30);

/// The result of all groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChurnReport {
    /// One for each case and mode.
    pub(super) cases: Vec<ChurnCase>,
}

/// The result of one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ChurnCase {
    /// The name.
    pub(super) name: &'static str,
    /// What the group promises.
    pub(super) mode: Mode,
    /// Consumers that joined or left.
    pub(super) changes: usize,
    /// Planned moves.
    pub(super) moves: usize,
    /// Moves that an operator called off.
    pub(super) aborted: usize,
    /// Records that nobody handled.
    pub(super) lost: usize,
    /// Records that were handled more than once.
    pub(super) duplicated: usize,
    /// Partitions that stood still.
    pub(super) stood_still: usize,
    /// The longest time without a record of a partition, in milliseconds.
    pub(super) longest_still_ms: u64,
    /// Sessions that were ended or ran out; those that left are none.
    pub(super) sessions_ended: usize,
    /// Consumers that did not leave in time.
    pub(super) killed: usize,
    /// Consumers that ended though nobody asked them to.
    pub(super) ended: usize,
}

impl ChurnCase {
    /// A case without any record.
    pub(super) const fn new(name: &'static str, mode: Mode) -> Self {
        Self {
            name,
            mode,
            changes: 0,
            moves: 0,
            aborted: 0,
            lost: 0,
            duplicated: 0,
            stood_still: 0,
            longest_still_ms: 0,
            sessions_ended: 0,
            killed: 0,
            ended: 0,
        }
    }

    /// The same with what the store's history tells.
    pub(super) fn with_moves(self, history: &GroupHistory) -> Self {
        Self { moves: history.all().count(), sessions_ended: history.sessions_ended, ..self }
    }

    /// The same with what became of the records `supplied`.
    pub(super) fn with_records(self, supplied: &[u64], effects: &[Effect]) -> Self {
        let (times, still) = (times(effects), longest_still(effects));
        Self {
            lost: supplied.iter().filter(|id| !times.contains_key(id)).count(),
            duplicated: times.values().filter(|times| **times > 1).count(),
            stood_still: still.values().filter(|still| **still > micros(STANDS)).count(),
            longest_still_ms: still.into_values().max().unwrap_or(0) / 1_000,
            ..self
        }
    }

    fn failures(&self) -> Vec<String> {
        let none_of = [
            (self.lost, "records lost"),
            (if self.mode.is_strict() { self.duplicated } else { 0 }, "records handled twice"),
            (self.stood_still, "partitions stood still"),
            (self.sessions_ended, "sessions ended"),
            (self.killed, "consumers did not leave in time"),
            (self.ended, "consumers ended by themselves"),
        ];
        let none_of = none_of.map(|(count, what)| (count > 0, format!("{count} {what}")));
        let rules = [
            (self.changes == 0, "nothing changed".to_owned()),
            (self.moves == 0, "nothing moved".to_owned()),
            (self.name == CHANGES && self.aborted == 0, "nothing was aborted".to_owned()),
        ];
        let broken = broken(none_of.into_iter().chain(rules)).into_iter();
        broken.map(|text| format!("{}, {}: {text}", self.name, self.mode)).collect()
    }
}

/// The longest time between two records of each partition that were handled one after the other, up to the last record of
/// all.
fn longest_still(effects: &[Effect]) -> BTreeMap<u32, Micros> {
    let handled = || effects.iter().filter(|effect| effect.handled().is_some());
    let end = handled().map(|effect| effect.at).max().unwrap_or(0);
    let mut seen: BTreeMap<u32, (Micros, Micros)> = BTreeMap::new();
    for effect in handled() {
        let (last, longest) = seen.entry(effect.partition).or_insert((effect.at, 0));
        *longest = (*longest).max(effect.at.saturating_sub(*last));
        *last = effect.at;
    }
    let still = |(at, (last, longest)): (u32, (Micros, Micros))| (at, longest.max(end.saturating_sub(last)));
    seen.into_iter().map(still).collect()
}

impl ScenarioReport for ChurnReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["CASE", "MODE", "CHANGES", "MOVES", "ABORTED", "LOST", "TWICE", "STOOD", "STILL ms", "KILLED"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &ChurnCase| {
            let counts =
                [case.changes, case.moves, case.aborted, case.lost, case.duplicated, case.stood_still];
            let mut cells = vec![case.name.to_owned(), case.mode.to_string()];
            cells.extend(counts.iter().map(usize::to_string));
            cells.extend([case.longest_still_ms.to_string(), case.killed.to_string()]);
            cells
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let is_there = |name, mode| self.cases.iter().any(|case| (case.name, case.mode) == (name, mode));
        let missing =
            WANTED.map(|(name, mode)| (!is_there(name, mode), format!("{name}, {mode}: was not played")));
        self.cases.iter().flat_map(ChurnCase::failures).chain(broken(missing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::sink::Deed;

    fn good() -> ChurnReport {
        let case =
            |(name, mode)| ChurnCase { changes: 2, moves: 4, aborted: 1, ..ChurnCase::new(name, mode) };
        ChurnReport { cases: WANTED.map(case).into() }
    }

    #[test]
    fn every_figure_is_judged() {
        assert_eq!(good().failures(), Vec::<String>::new());
        assert!(good().rows().iter().all(|row| row.len() == good().heads().len()));
        let spoils: [fn(&mut ChurnCase); 8] = [
            |case| case.lost = 1,
            |case| case.duplicated = 1,
            |case| case.stood_still = 1,
            |case| case.sessions_ended = 1,
            |case| case.killed = 1,
            |case| case.ended = 1,
            |case| case.changes = 0,
            |case| case.aborted = 0,
        ];
        for spoil in spoils {
            let mut report = good();
            spoil(&mut report.cases[1]);
            assert_eq!(report.failures().len(), 1, "{report:?}");
        }
        let mut report = good();
        (report.cases[0].duplicated, report.cases[2].aborted) = (7, 0);
        assert_eq!(report.failures(), Vec::<String>::new(), "both may be");
        report.cases[4].moves = 0;
        report.cases.remove(3);
        assert_eq!(
            report.failures(),
            ["rolling, exclusive: nothing moved", "in-a-row, exclusive: was not played"]
        );
    }

    #[test]
    fn a_partition_stands_still_between_two_records_or_up_to_the_last_one_of_all() {
        let effect = |partition, seconds: u64, id| Effect {
            process: "a#1".to_owned(),
            partition,
            epoch: 1,
            at: seconds * 1_000_000,
            deed: Deed::Handled { id, offset: 0 },
        };
        let effects = [effect(0, 1, 1), effect(1, 2, 2), effect(0, 32, 3), effect(1, 3, 3), effect(2, 33, 4)];
        let case = ChurnCase::new(CHANGES, Mode::Overlap).with_records(&[1, 2, 3, 4, 5], &effects);
        assert_eq!((case.lost, case.duplicated, case.stood_still, case.longest_still_ms), (1, 1, 1, 31_000));
        let later = [effects.as_slice(), &[effect(1, 34, 5)]].concat();
        assert_eq!(ChurnCase::new(CHANGES, Mode::Overlap).with_records(&[], &later).stood_still, 2);
    }
}
