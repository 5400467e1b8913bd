//! The report of topics that were created again.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use kafka_assigner_types::mode::Mode;
use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken, millis};
use crate::scenario::sink::{Effect, times};

/// A topic that was away for so long has to be known as gone before it is back, in milliseconds.
const LONG_AWAY_MS: u64 = 30_000;

/// The partitions of a topic that is created again, against those of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Growth {
    /// Half as many.
    Fewer,
    /// As many.
    Same,
    /// One and a half times as many.
    More,
}

impl Growth {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Fewer, Self::Same, Self::More];

    /// The number of partitions where there were `before`, an even number.
    pub(crate) const fn after(self, before: u32) -> u32 {
        match self {
            Self::Fewer => before / 2,
            Self::Same => before,
            Self::More => before + before / 2,
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fewer => "fewer",
            Self::Same => "same",
            Self::More => "more",
        })
    }
}

/// The result of all groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RecreateReport {
    /// One for each group.
    pub(crate) cases: Vec<RecreateCase>,
    /// How many groups there are: three modes, three numbers of partitions, two times, unless the run is short.
    #[serde(skip)]
    pub(crate) wanted: usize,
}

/// The result of one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RecreateCase {
    /// What the group promises.
    pub(crate) mode: Mode,
    /// The partitions of the second topic, against those of the first one.
    pub(crate) partitions: Growth,
    /// The time between the two.
    pub(crate) away_ms: u64,
    /// Records of the second topic.
    pub(crate) produced: usize,
    /// Those that nobody handled.
    pub(crate) lost: usize,
    /// Those that were handled twice under grants of the second topic.
    pub(crate) duplicated: usize,
    /// Those that were handled under a grant of the first topic, before the service saw the second one's id.
    pub(crate) handled_before_seen: usize,
    /// From the creation of the second topic until the service knew its id; `None` = it never did.
    pub(crate) seen_after_ms: Option<u64>,
}

impl RecreateCase {
    /// A case without any record.
    pub(crate) fn new(mode: Mode, partitions: Growth, away: Duration, seen_after: Option<Duration>) -> Self {
        Self {
            mode,
            partitions,
            away_ms: millis(away),
            produced: 0,
            lost: 0,
            duplicated: 0,
            handled_before_seen: 0,
            seen_after_ms: seen_after.map(millis),
        }
    }

    /// The same with what became of the records `produced` into the second topic, of which grants have epochs from
    /// `first_epoch` on.
    pub(crate) fn count(self, produced: &[u64], effects: &[Effect], first_epoch: u64) -> Self {
        let ids: BTreeSet<u64> = produced.iter().copied().collect();
        let of_second = |effect: &&Effect| effect.handled().is_some_and(|id| ids.contains(&id));
        let (later, before): (Vec<&Effect>, Vec<&Effect>) =
            effects.iter().filter(of_second).partition(|effect| effect.epoch >= first_epoch);
        let (later, before) = (times(later), times(before));
        let is_lost = |id: &&u64| !later.contains_key(id) && !before.contains_key(id);
        Self {
            produced: ids.len(),
            lost: ids.iter().filter(is_lost).count(),
            duplicated: later.values().filter(|times| **times > 1).count(),
            handled_before_seen: before.len(),
            ..self
        }
    }

    fn failures(&self) -> Vec<String> {
        let rules = [
            (self.produced == 0, "nothing was produced".to_owned()),
            (self.lost > 0, format!("{} of {} records lost", self.lost, self.produced)),
            (
                self.mode.is_strict() && self.duplicated > 0,
                format!("{} records handled twice under grants of the second topic", self.duplicated),
            ),
            (
                self.away_ms >= LONG_AWAY_MS && self.handled_before_seen > 0,
                format!("{} records handled under grants of a topic that was gone", self.handled_before_seen),
            ),
            (self.seen_after_ms.is_none(), "the second topic was never seen".to_owned()),
        ];
        let name = format!("{}, {} partitions, away for {} ms", self.mode, self.partitions, self.away_ms);
        broken(rules).into_iter().map(|text| format!("{name}: {text}")).collect()
    }
}

impl ScenarioReport for RecreateReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["MODE", "PARTITIONS", "AWAY ms", "RECORDS", "LOST", "TWICE", "BEFORE", "SEEN ms"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &RecreateCase| {
            vec![
                case.mode.to_string(),
                case.partitions.to_string(),
                case.away_ms.to_string(),
                case.produced.to_string(),
                case.lost.to_string(),
                case.duplicated.to_string(),
                case.handled_before_seen.to_string(),
                case.seen_after_ms.map_or_else(|| "never".to_owned(), |ms| ms.to_string()),
            ]
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let (cases, wanted) = (self.cases.len(), self.wanted);
        let few = (cases != wanted || cases == 0, format!("{cases} of {wanted} cases"));
        self.cases.iter().flat_map(RecreateCase::failures).chain(broken([few])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::sink::Deed;

    fn case(mode: Mode, partitions: Growth, away: u64) -> RecreateCase {
        let seen = Some(Duration::from_millis(9_000));
        let case = RecreateCase::new(mode, partitions, Duration::from_millis(away), seen);
        RecreateCase { produced: 1_000, ..case }
    }

    /// Overlap, exclusive, routed; fewer, same, more; short, long.
    fn all() -> RecreateReport {
        let of_mode = |mode| {
            Growth::ALL.into_iter().flat_map(move |growth| [200, 30_000].map(|ms| case(mode, growth, ms)))
        };
        RecreateReport { cases: Mode::ALL.into_iter().flat_map(of_mode).collect(), wanted: 18 }
    }

    #[test]
    fn every_rule_is_held_against_the_report() {
        assert_eq!(all().failures(), Vec::<String>::new());
        let spoil: [fn(&mut RecreateCase); 4] = [
            |case| case.lost = 1,
            |case| case.produced = 0,
            |case| case.seen_after_ms = None,
            |case| (case.away_ms, case.handled_before_seen) = (30_000, 1),
        ];
        for spoil in spoil {
            for place in [0, 17] {
                let mut report = all();
                spoil(&mut report.cases[place]);
                assert_eq!(report.failures().len(), 1, "{report:?}");
            }
        }
        let mut report = all();
        report.cases.pop();
        assert_eq!(report.failures(), ["17 of 18 cases"]);
    }

    #[test]
    fn twice_is_too_often_in_the_strict_modes_only_and_before_after_a_long_time_only() {
        let mut report = all();
        (report.cases[0].duplicated, report.cases[0].handled_before_seen) = (5, 5);
        assert_eq!(report.failures(), Vec::<String>::new());
        report.cases[6].duplicated = 1;
        report.cases[1].handled_before_seen = 1;
        assert_eq!(report.failures().len(), 2);
    }

    #[test]
    fn records_are_told_apart_by_the_epoch_under_which_they_were_handled() {
        let effect = |id, epoch| Effect {
            process: "a#1".to_owned(),
            partition: 0,
            epoch,
            at: 1,
            deed: Deed::Handled { id, offset: 0 },
        };
        // 9 is of the first topic; 4 was handled by nobody; 5 before the second topic was known alone.
        let effects = [
            effect(9, 3),
            effect(9, 8),
            effect(1, 7),
            effect(2, 7),
            effect(2, 8),
            effect(3, 3),
            effect(3, 7),
            effect(5, 3),
        ];
        let counted = case(Mode::Overlap, Growth::Same, 200).count(&[1, 2, 3, 4, 5], &effects, 7);
        let figures = (counted.produced, counted.lost, counted.duplicated, counted.handled_before_seen);
        assert_eq!(figures, (5, 1, 1, 2));
    }
}
