//! The report of Kafka's groups.

use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken};

/// The result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupsReport {
    pub(super) cases: Vec<GroupsCase>,
}

/// The result of one view of one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct GroupsCase {
    /// The type of the group.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    /// The flags of the view.
    pub(super) view: String,
    /// The fields that Kafka's tool shows.
    pub(super) fields: usize,
    /// True if every one of them is equal, and there is none besides.
    pub(super) ok: bool,
}

impl ScenarioReport for GroupsReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["TYPE", "VIEW", "FIELDS", "EQUAL"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |case: &GroupsCase| {
            let ok = if case.ok { "yes" } else { "no" };
            vec![case.kind.to_owned(), case.view.clone(), case.fields.to_string(), ok.to_owned()]
        };
        self.cases.iter().map(row).collect()
    }

    fn failures(&self) -> Vec<String> {
        let failures = |GroupsCase { kind, view, fields, ok }: &GroupsCase| {
            broken([
                (*fields == 0, format!("{kind} {view}: Kafka's tool shows nothing")),
                (!ok, format!("{kind} {view}: not as Kafka's tool")),
            ])
        };
        self.cases.iter().flat_map(failures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_judged() {
        let case = || GroupsCase { kind: "share", view: "--state".to_owned(), fields: 4, ok: true };
        let judged = |case| GroupsReport { cases: vec![case] }.failures().len();
        assert_eq!(judged(case()), 0);
        assert_eq!(judged(GroupsCase { ok: false, ..case() }), 1);
        assert_eq!(judged(GroupsCase { fields: 0, ..case() }), 1);
        let report = GroupsReport { cases: vec![case()] };
        assert_eq!(report.rows()[0].len(), report.heads().len());
    }
}
