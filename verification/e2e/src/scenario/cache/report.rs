//! The report of the cache.

use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken};

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CacheReport {
    /// Answers.
    pub(super) reads: usize,
    /// Answers that are older than one before, or of an owner that was replaced before the question.
    pub(super) wrong: usize,
    /// Changes of an owner that answers have shown.
    pub(super) moves: usize,
    /// Caches that were restarted.
    pub(super) restarted: usize,
    /// Questions that nobody answered on the first try, and that were asked again elsewhere.
    pub(super) asked_again: usize,
    /// So few answers say nothing.
    #[serde(skip)]
    pub(super) least_reads: usize,
    /// Caches that were to be restarted.
    #[serde(skip)]
    pub(super) restarts: usize,
}

impl ScenarioReport for CacheReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["READS", "WRONG", "MOVES", "RESTARTED", "ASKED AGAIN"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let counts = [self.reads, self.wrong, self.moves, self.restarted, self.asked_again];
        vec![counts.iter().map(usize::to_string).collect()]
    }

    fn failures(&self) -> Vec<String> {
        broken([
            (self.reads <= self.least_reads, format!("only {} reads", self.reads)),
            (self.wrong > 0, format!("{} wrong answers", self.wrong)),
            (self.moves == 0, "no partition moved".to_owned()),
            (self.restarted < self.restarts, format!("{} caches were restarted", self.restarted)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_judged() {
        let good = CacheReport {
            reads: 10_001,
            wrong: 0,
            moves: 1,
            restarted: 4,
            asked_again: 9,
            least_reads: 10_000,
            restarts: 4,
        };
        assert_eq!(good.failures(), Vec::<String>::new());
        assert_eq!(good.rows()[0].len(), good.heads().len());
        let spoils: [fn(&mut CacheReport); 4] = [
            |report| report.reads = 10_000,
            |report| report.wrong = 1,
            |report| report.moves = 0,
            |report| report.restarted = 3,
        ];
        for spoil in spoils {
            let mut report = good.clone();
            spoil(&mut report);
            assert_eq!(report.failures().len(), 1, "{report:?}");
        }
    }
}
