//! The explanation of one partition's assignment.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::assignment::AssignmentEntry;
use super::handoff::HandoffEntry;
use super::plan::PlannedMove;
use crate::output::{Report, TextPage};

/// One partition, explained.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    assignment: AssignmentEntry,
    handoff: Option<HandoffEntry>,
    /// `null` = nothing new: it stays, a move goes on, or nobody gets it.
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

impl Explanation {
    fn next_words(&self) -> String {
        match &self.next {
            Some(next) => next.sentence(),
            None if self.handoff.as_ref().is_some_and(HandoffEntry::is_cancelled) => {
                "end the cancelled move".to_owned()
            }
            None if self.handoff.is_some() => "let the move go on".to_owned(),
            None if self.assignment.has_owner() => "leave it where it is".to_owned(),
            None => "leave it without an owner".to_owned(),
        }
    }
}

impl Report for Explanation {
    fn show(&self, page: &mut TextPage) {
        page.line(self.assignment.sentence());
        if let Some(handoff) = &self.handoff {
            page.line(handoff.sentence());
        }
        page.line(format!("the leader would {}", self.next_words()));
        for reason in &self.reasons {
            page.line(format!("- {reason}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_words(owner: &str, handoff: Option<v1::Handoff>) -> String {
        let assignment = v1::PartitionAssignment { owner: owner.into(), ..Default::default() };
        let wire = v1::ExplainResponse { assignment: Some(assignment), handoff, ..Default::default() };
        Explanation::from(wire).next_words()
    }

    #[test]
    fn what_nobody_owns_is_not_said_to_stay_where_it_is() {
        assert_eq!(next_words("", None), "leave it without an owner");
        assert_eq!(next_words("a", None), "leave it where it is");
        assert_eq!(next_words("a", Some(v1::Handoff::default())), "let the move go on");
        let cancelled = v1::Handoff { phase: v1::Phase::Cancelled.into(), ..v1::Handoff::default() };
        assert_eq!(next_words("a", Some(cancelled)), "end the cancelled move");
    }
}
