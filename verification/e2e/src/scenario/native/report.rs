//! The report of members without a service.

use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken};

/// The result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NativeReport {
    pub(super) cases: Vec<NativeCase>,
}

/// The result of one situation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NativeCase {
    /// The situation.
    pub(super) name: &'static str,
    /// Kafka's version.
    pub(super) broker: String,
    /// The records that Kafka acknowledged.
    pub(super) produced: usize,
    /// Records that nobody handled.
    pub(super) lost: usize,
    /// Times that a record was handled beside the first.
    pub(super) duplicated: usize,
    /// True if each member was told of partitions in order and of no more than it had to be, and no partition had two owners.
    pub(super) callbacks_in_order: bool,
    /// True if members had what Kafka's own assignor gives for their subscriptions; `None`: Kafka has none of the strategy.
    pub(super) assignment_equal: Option<bool>,
    /// True if members had what the coordinator described, in parts that differ by one partition at most.
    pub(super) assignment_sound: bool,
    /// True where a member has lost partitions, with records in its hands.
    #[serde(skip)]
    pub(super) may_duplicate: bool,
}

impl ScenarioReport for NativeReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["SITUATION", "PRODUCED", "LOST", "DUPLICATED", "IN ORDER", "AS KAFKA", "SOUND"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let row = |case: &NativeCase| {
            vec![
                case.name.to_owned(),
                case.produced.to_string(),
                case.lost.to_string(),
                case.duplicated.to_string(),
                yes(case.callbacks_in_order),
                case.assignment_equal.map_or_else(|| "-".to_owned(), yes),
                yes(case.assignment_sound),
            ]
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let none = (self.cases.is_empty(), "nothing was played".to_owned());
        self.cases.iter().flat_map(NativeCase::failures).chain(broken([none])).collect()
    }
}

impl NativeCase {
    fn failures(&self) -> Vec<String> {
        let Self { name, produced, lost, duplicated, .. } = self;
        broken([
            (*produced == 0, format!("{name}: nothing was produced")),
            (*lost > 0, format!("{name}: {lost} records lost")),
            (*duplicated > 0 && !self.may_duplicate, format!("{name}: {duplicated} records handled twice")),
            (!self.callbacks_in_order, format!("{name}: callbacks out of order")),
            (
                self.assignment_equal == Some(false),
                format!("{name}: members have other partitions than Kafka plans for them"),
            ),
            (
                !self.assignment_sound,
                format!("{name}: members have other partitions than described, or uneven ones"),
            ),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> NativeCase {
        NativeCase {
            name: "eager",
            broker: "4.4.0".to_owned(),
            produced: 100,
            lost: 0,
            duplicated: 0,
            callbacks_in_order: true,
            assignment_equal: Some(true),
            assignment_sound: true,
            may_duplicate: false,
        }
    }

    #[test]
    fn every_figure_is_judged() {
        assert_eq!(good().failures(), Vec::<String>::new());
        let spoils: [fn(&mut NativeCase); 6] = [
            |case| case.produced = 0,
            |case| case.lost = 1,
            |case| case.duplicated = 1,
            |case| case.callbacks_in_order = false,
            |case| case.assignment_equal = Some(false),
            |case| case.assignment_sound = false,
        ];
        for spoil in spoils {
            let mut case = good();
            spoil(&mut case);
            assert_eq!(case.failures().len(), 1, "{case:?}");
        }
        let frozen = NativeCase { duplicated: 9, may_duplicate: true, ..good() };
        assert_eq!(frozen.failures(), Vec::<String>::new());
        let own = NativeCase { assignment_equal: None, ..good() };
        assert_eq!(own.failures(), Vec::<String>::new());
    }

    #[test]
    fn the_table_fits_its_heads() {
        let report = NativeReport { cases: vec![good()] };
        assert_eq!(report.rows()[0].len(), report.heads().len());
    }
}
