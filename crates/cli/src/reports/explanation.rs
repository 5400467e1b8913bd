//! Why one partition is where it is.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::{Assignment, Handoff, PlannedMove};
use crate::output::{Page, Report};

/// One partition, explained.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    assignment: Assignment,
    handoff: Option<Handoff>,
    /// `null` = it stays.
    next: Option<PlannedMove>,
    reasons: Vec<String>,
}

impl From<v1::ExplainResponse> for Explanation {
    fn from(wire: v1::ExplainResponse) -> Self {
        Self {
            assignment: wire.assignment.unwrap_or_default().into(),
            handoff: wire.handoff.map(Into::into),
            next: wire.next.map(Into::into),
            reasons: wire.reasons,
        }
    }
}

impl Report for Explanation {
    fn show(&self, page: &mut Page) {
        page.line(self.assignment.sentence());
        if let Some(handoff) = &self.handoff {
            page.line(handoff.sentence());
        }
        let next =
            self.next.as_ref().map_or_else(|| "leave it where it is".to_owned(), PlannedMove::sentence);
        page.line(format!("the leader would {next}"));
        for reason in &self.reasons {
            page.line(format!("- {reason}"));
        }
    }
}
