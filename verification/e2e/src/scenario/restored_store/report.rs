//! The report of stores that were put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use kafka_assigner_audit::{Ledger, Micros};
use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken, millis};
use crate::scenario::sink::{Effect, times};

/// The way of putting a store back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// A copy of the data folder.
    Folder,
    /// A snapshot that `etcdutl` restores under a higher revision.
    Snapshot,
}

impl Way {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Folder, Self::Snapshot];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "folder",
            Self::Snapshot => "snapshot",
        })
    }
}

/// The result of all groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RestoredReport {
    /// One for each group.
    pub(crate) cases: Vec<RestoredCase>,
    /// How many groups there are: two modes, two ways, unless the run is short.
    #[serde(skip)]
    pub(crate) wanted: usize,
}

/// The result of one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RestoredCase {
    /// What the group promises.
    pub(crate) mode: Mode,
    /// How its store was put back.
    pub(crate) way: Way,
    /// From the store's first answer until every instance served another history; `None` = not all did.
    pub(crate) noticed_ms: Option<u64>,
    /// How often, as the sink saw it, a process came in under an epoch that was not above all before it.
    pub(crate) epochs_fell: usize,
    /// The time for which two processes handled records of one partition.
    pub(crate) two_owner_ms: f64,
    /// Partitions of which no record was handled under a grant of the new history in time.
    pub(crate) stood_still: usize,
    /// Records that nobody handled.
    pub(crate) lost: usize,
    /// Instances and consumers whose processes ended.
    pub(crate) restarts: usize,
}

impl RestoredCase {
    /// A case without any record.
    pub(crate) fn new(mode: Mode, way: Way, noticed: Option<Duration>) -> Self {
        Self {
            mode,
            way,
            noticed_ms: noticed.map(millis),
            epochs_fell: 0,
            two_owner_ms: 0.0,
            stood_still: 0,
            lost: 0,
            restarts: 0,
        }
    }

    /// The same with what the sink saw of the records `produced` into `topic`.
    pub(crate) fn count(self, topic: &str, effects: &[Effect], produced: &[u64]) -> Self {
        let handled = effects.iter().filter_map(|effect| effect.for_audit(topic)).collect();
        let together = Ledger { handled, ..Ledger::default() }.together();
        let times = times(effects);
        Self {
            epochs_fell: falls(effects, self.mode),
            two_owner_ms: Duration::from_micros(together).as_secs_f64() * 1_000.0,
            lost: produced.iter().filter(|id| !times.contains_key(id)).count(),
            ..self
        }
    }

    /// The same with the number of those of `partitions` partitions that nobody handled by `deadline` under an epoch above
    /// `lost_epoch`, the highest of the lost history.
    pub(crate) fn standing(
        self,
        effects: &[Effect],
        lost_epoch: u64,
        deadline: Micros,
        partitions: u32,
    ) -> Self {
        let is_anew = |effect: &&Effect| effect.epoch > lost_epoch && effect.at <= deadline;
        let moving: BTreeSet<u32> = effects
            .iter()
            .filter(is_anew)
            .filter(|effect| effect.handled().is_some())
            .map(|effect| effect.partition)
            .collect();
        Self { stood_still: (partitions as usize).saturating_sub(moving.len()), ..self }
    }

    fn failures(&self) -> Vec<String> {
        let none_of = [
            (self.epochs_fell, "epochs fell"),
            (self.stood_still, "partitions stood still"),
            (self.lost, "records lost"),
        ];
        let none_of = none_of.map(|(count, what)| (count > 0, format!("{count} {what}")));
        let rules = [
            (self.noticed_ms.is_none(), "not all instances noticed it".to_owned()),
            (
                self.mode.is_strict() && self.two_owner_ms > 0.0,
                format!("{} ms with two owners", self.two_owner_ms),
            ),
        ];
        let broken = broken(none_of.into_iter().chain(rules)).into_iter();
        broken.map(|text| format!("{}, {}: {text}", self.mode, self.way)).collect()
    }
}

/// The number of times that a process came in, in one partition, under an epoch that was not above all before it. In
/// `overlap` the old owner goes on for a moment beside the new one, so there only the first effect of a tenure counts.
fn falls(effects: &[Effect], mode: Mode) -> usize {
    let mut begun: BTreeSet<(u32, u64, &str)> = BTreeSet::new();
    let mut highest: BTreeMap<u32, u64> = BTreeMap::new();
    let mut last: BTreeMap<u32, (u64, &str)> = BTreeMap::new();
    let mut falls = 0;
    for Effect { partition, epoch, process, .. } in effects {
        let is_first = begun.insert((*partition, *epoch, process));
        let comes_in = last.insert(*partition, (*epoch, process)) != Some((*epoch, process));
        let before = highest.entry(*partition).or_default();
        let counts = if mode.is_strict() { comes_in } else { is_first };
        falls += usize::from(counts && epoch <= before);
        *before = (*before).max(*epoch);
    }
    falls
}

impl ScenarioReport for RestoredReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["MODE", "WAY", "NOTICED ms", "FELL", "TWO OWNERS ms", "STOOD", "LOST", "RESTARTS"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &RestoredCase| {
            vec![
                case.mode.to_string(),
                case.way.to_string(),
                case.noticed_ms.map_or_else(|| "never".to_owned(), |ms| ms.to_string()),
                case.epochs_fell.to_string(),
                case.two_owner_ms.to_string(),
                case.stood_still.to_string(),
                case.lost.to_string(),
                case.restarts.to_string(),
            ]
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let (cases, wanted) = (self.cases.len(), self.wanted);
        let few = (cases != wanted || cases == 0, format!("{cases} of {wanted} cases"));
        self.cases.iter().flat_map(RestoredCase::failures).chain(broken([few])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::sink::Deed;

    fn all() -> RestoredReport {
        let of_mode =
            |mode| Way::ALL.map(|way| RestoredCase::new(mode, way, Some(Duration::from_millis(1_100))));
        let cases = [Mode::Overlap, Mode::Exclusive].into_iter().flat_map(of_mode).collect();
        RestoredReport { cases, wanted: 4 }
    }

    #[test]
    fn every_rule_is_held_against_the_report() {
        assert_eq!(all().failures(), Vec::<String>::new());
        let spoil: [fn(&mut RestoredCase); 4] = [
            |case| case.epochs_fell = 1,
            |case| case.stood_still = 1,
            |case| case.lost = 1,
            |case| case.noticed_ms = None,
        ];
        for spoil in spoil {
            for place in 0..4 {
                let mut report = all();
                spoil(&mut report.cases[place]);
                assert_eq!(report.failures().len(), 1, "{report:?}");
            }
        }
        let mut report = all();
        report.cases.iter_mut().for_each(|case| case.two_owner_ms = 0.1);
        assert_eq!(report.failures().len(), 2, "in the strict mode only");
        assert_eq!(RestoredReport { cases: Vec::new(), wanted: 4 }.failures(), ["0 of 4 cases"]);
    }

    fn effect(process: &str, epoch: u64, at: Micros) -> Effect {
        let deed = Deed::Handled { id: at, offset: 0 };
        Effect { process: process.to_owned(), partition: 0, epoch, at, deed }
    }

    #[test]
    fn an_epoch_falls_where_somebody_comes_in_under_one_that_is_not_above_all_before() {
        let returning = [effect("a", 3, 1), effect("b", 5, 2), effect("a", 3, 3), effect("b", 5, 4)];
        for (mode, count) in [(Mode::Overlap, 0), (Mode::Exclusive, 2)] {
            assert_eq!(falls(&returning, mode), count, "{mode}");
            assert_eq!(falls(&[effect("a", 3, 1), effect("b", 5, 2), effect("b", 5, 3)], mode), 0, "{mode}");
            assert_eq!(falls(&[effect("a", 5, 1), effect("b", 3, 2)], mode), 1, "{mode}");
            assert_eq!(falls(&[effect("a", 5, 1), effect("b", 5, 2)], mode), 1, "{mode}");
        }
    }

    #[test]
    fn what_was_handled_in_time_under_a_grant_of_the_new_history_does_not_stand_still() {
        let standing = |effects: &[Effect]| {
            let case = RestoredCase::new(Mode::Exclusive, Way::Folder, None);
            case.standing(effects, 7, 100, 1).stood_still
        };
        assert_eq!(standing(&[effect("a", 8, 100)]), 0);
        assert_eq!(standing(&[effect("a", 7, 100), effect("a", 8, 101)]), 1);
    }

    #[test]
    fn two_processes_at_once_and_lost_records_are_counted() {
        let both =
            [effect("a", 3, 1_000), effect("b", 5, 2_000), effect("b", 5, 2_500), effect("a", 3, 3_000)];
        let case = RestoredCase::new(Mode::Exclusive, Way::Folder, None).count("t", &both, &[1_000, 7]);
        assert_eq!((case.two_owner_ms, case.lost), (0.5, 1));
    }
}
