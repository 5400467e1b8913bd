//! The report of the edges.

use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken};

/// The cases, in the order in which they are shown.
pub(super) const NAMES: [&str; 13] = [
    OFFSET_EXPIRY,
    RETENTION_BEFORE_START,
    RETENTION_WHILE_RUNNING,
    SLOW_REBUILD,
    FAILING_CATCH_UP,
    LEADERLESS,
    POISON_SKIP,
    POISON_DEAD_LETTER,
    POISON_STOP,
    TWO_CHANGES,
    MARKERS,
    SECURED,
    BROKER_FROZEN,
];

/// The cases of a short run.
pub(super) const SHORT_NAMES: [&str; 3] = [FAILING_CATCH_UP, POISON_STOP, MARKERS];

/// Kafka drops what a group has committed, while its partitions are quiet.
pub(super) const OFFSET_EXPIRY: &str = "offset-expiry";
/// Retention removes records before a consumer starts.
pub(super) const RETENTION_BEFORE_START: &str = "retention-before-start";
/// Retention overtakes a consumer.
pub(super) const RETENTION_WHILE_RUNNING: &str = "retention-while-running";
/// A state takes longer to build than any deadline.
pub(super) const SLOW_REBUILD: &str = "slow-rebuild";
/// A record fails at the switch.
pub(super) const FAILING_CATCH_UP: &str = "failing-catch-up";
/// Partitions without a leader come first.
pub(super) const LEADERLESS: &str = "leaderless";
/// A record that can't be handled is passed over.
pub(super) const POISON_SKIP: &str = "poison-skip";
/// A record that can't be handled is written to the dead-letter topic.
pub(super) const POISON_DEAD_LETTER: &str = "poison-dead-letter";
/// A partition stands before a record that can't be handled.
pub(super) const POISON_STOP: &str = "poison-stop";
/// A record fails between its two changes of the state.
pub(super) const TWO_CHANGES: &str = "two-changes";
/// The log ends with the markers of transactions.
pub(super) const MARKERS: &str = "markers";
/// Brokers ask for TLS and a login.
pub(super) const SECURED: &str = "secured";
/// A broker hangs.
pub(super) const BROKER_FROZEN: &str = "broker-frozen";

/// Partitions whose brokers run begin within this time from the start of their consumer's process, in milliseconds,
/// however many others have no leader.
const HEALTHY_STARTED_MS: u64 = 5_000;

/// The result of all cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EdgesReport {
    /// One for each name.
    pub(super) cases: Vec<EdgeCase>,
    /// The names.
    #[serde(skip)]
    pub(super) wanted: Vec<&'static str>,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct EdgeCase {
    /// The name.
    pub(super) name: &'static str,
    /// Records that were neither handled nor told as gone, skipped or dead-lettered.
    pub(super) lost: usize,
    /// Records that were handled twice.
    pub(super) duplicated: usize,
    /// Records that nobody handled, and that a handler was told of as gone.
    pub(super) gaps_told: usize,
    /// Records that were passed over.
    pub(super) skipped: usize,
    /// Records that are in the dead-letter topic.
    pub(super) dead_lettered: usize,
    /// States that are not what the log amounts to.
    pub(super) state_mismatches: usize,
    /// Records that were handled, and are not in the log: aborted ones.
    pub(super) strangers: usize,
    /// The number of times that the thing happened that the case is about.
    pub(super) happened: usize,
    /// From the start of the process to the first record of the last partition that has a leader, in milliseconds; `None` =
    /// not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) healthy_started_ms: Option<u64>,
    /// True = everything is as it should be.
    pub(super) ok: bool,
}

impl EdgeCase {
    /// A case without any record.
    pub(super) const fn named(name: &'static str) -> Self {
        Self {
            name,
            lost: 0,
            duplicated: 0,
            gaps_told: 0,
            skipped: 0,
            dead_lettered: 0,
            state_mismatches: 0,
            strangers: 0,
            happened: 0,
            healthy_started_ms: None,
            ok: false,
        }
    }

    /// The same, judged: what the case is about has happened so often.
    pub(super) fn concluded(self, happened: usize) -> Self {
        let case = Self { happened, ..self };
        Self { ok: case.failures().is_empty(), ..case }
    }

    /// The sum of two runs of a case.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            duplicated: self.duplicated + other.duplicated,
            gaps_told: self.gaps_told + other.gaps_told,
            skipped: self.skipped + other.skipped,
            dead_lettered: self.dead_lettered + other.dead_lettered,
            state_mismatches: self.state_mismatches + other.state_mismatches,
            strangers: self.strangers + other.strangers,
            ..self
        }
    }

    fn failures(&self) -> Vec<String> {
        let late = self.healthy_started_ms.is_some_and(|ms| ms > HEALTHY_STARTED_MS);
        let unmeasured = self.name == LEADERLESS && self.healthy_started_ms.is_none();
        let rules = [
            (self.lost > 0, format!("{} records lost", self.lost)),
            (self.duplicated > 0, format!("{} records handled twice", self.duplicated)),
            (self.state_mismatches > 0, format!("{} wrong states", self.state_mismatches)),
            (self.strangers > 0, format!("{} records handled that are not in the log", self.strangers)),
            (self.happened == 0, "what it is about did not happen".to_owned()),
            (late, format!("healthy partitions began after {:?} ms", self.healthy_started_ms)),
            (unmeasured, "nobody measured when healthy partitions began".to_owned()),
        ];
        broken(rules).into_iter().map(|text| format!("{}: {text}", self.name)).collect()
    }
}

impl ScenarioReport for EdgesReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["CASE", "LOST", "TWICE", "GAPS", "SKIPPED", "LETTERS", "STATES", "SEEN", "OK"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &EdgeCase| {
            let counts = [
                case.lost,
                case.duplicated,
                case.gaps_told,
                case.skipped,
                case.dead_lettered,
                case.state_mismatches,
                case.happened,
            ];
            let mut cells = vec![case.name.to_owned()];
            cells.extend(counts.iter().map(usize::to_string));
            cells.push(if case.ok { "yes" } else { "no" }.to_owned());
            cells
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let is_there = |name: &str| self.cases.iter().filter(|case| case.name == name).count() == 1;
        let missing = self.wanted.iter().map(|name| (!is_there(name), format!("{name}: not played once")));
        self.cases.iter().flat_map(EdgeCase::failures).chain(broken(missing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> EdgesReport {
        let case = |name: &&'static str| {
            let measured = (*name == LEADERLESS).then_some(4_900);
            EdgeCase { healthy_started_ms: measured, ..EdgeCase::named(name) }.concluded(1)
        };
        EdgesReport { cases: NAMES.iter().map(case).collect(), wanted: NAMES.to_vec() }
    }

    #[test]
    fn every_figure_is_judged() {
        assert_eq!(good().failures(), Vec::<String>::new());
        assert!(good().cases.iter().all(|case| case.ok));
        let spoils: [fn(&mut EdgeCase); 6] = [
            |case| case.lost = 1,
            |case| case.duplicated = 1,
            |case| case.state_mismatches = 1,
            |case| case.strangers = 1,
            |case| case.happened = 0,
            |case| case.healthy_started_ms = Some(5_001),
        ];
        for spoil in spoils {
            for place in [0, 12] {
                let mut report = good();
                spoil(&mut report.cases[place]);
                assert_eq!(report.failures().len(), 1, "{report:?}");
                let happened = report.cases[place].happened;
                assert!(!report.cases.remove(place).concluded(happened).ok);
            }
        }
    }

    #[test]
    fn a_case_that_is_missing_is_named_and_so_is_a_measurement() {
        let mut report = good();
        report.cases.remove(5);
        assert_eq!(report.failures(), ["leaderless: not played once"]);
        let mut report = good();
        report.cases[5].healthy_started_ms = None;
        assert_eq!(report.failures().len(), 1);
    }

    #[test]
    fn two_runs_of_a_case_are_one() {
        let one = EdgeCase { lost: 1, gaps_told: 2, ..EdgeCase::named(OFFSET_EXPIRY) };
        let both = one.clone().and(&EdgeCase { duplicated: 3, gaps_told: 4, ..one });
        assert_eq!((both.lost, both.duplicated, both.gaps_told), (2, 3, 6));
    }

    #[test]
    fn the_table_fits_80_columns() {
        let report = good();
        assert_eq!(report.rows()[0].len(), report.heads().len());
    }
}
