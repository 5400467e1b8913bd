//! Partitions of which an offset was committed: the reports of owners that prove it, and the note in the assignment.
//!
//! Kafka keeps no trace of an offset that it has dropped. A consumer that finds none committed can't tell a new group from one
//! whose offsets were lost; the note tells it. What is not proven is not noted: a note that is wrong would keep a partition
//! from beginning.

use std::collections::BTreeSet;

use crate::begun::StreamReach;
use crate::record::{CommitReport, Extra};
use crate::state::{Entry, GroupState};
use crate::view::{Role, role};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::Revision;

/// The report of `member` about its commits as it is kept, after `before`. `lacking` is what it names; `None` where it does not
/// tell.
///
/// Only what was told by somebody who had heard of everything counts: whoever had not does not name what it has not heard
/// of. What was proven stays proven.
pub(crate) fn next_report(
    state: &GroupState,
    member: &Member,
    before: Option<&CommitReport>,
    told: StreamReach,
    lacking: Option<&[TopicPartition]>,
) -> Option<CommitReport> {
    let Some(lacking) = lacking.filter(|_| told == StreamReach::Everything) else { return before.cloned() };
    let named: BTreeSet<&TopicPartition> = lacking.iter().collect();
    // The consumer names what it works on; of what it is to stop, or does not see, it says nothing.
    let works_on = |at: &TopicPartition| matches!(role(state, member, at), Some(Role::Owner { .. }));
    let is_lacking =
        |at: &&TopicPartition| !proves(state, before, at) && (named.contains(*at) || !works_on(at));
    let lacking: BTreeSet<String> = state.owned(member).filter(is_lacking).map(ToString::to_string).collect();
    let (up_to, extra) = (state.revision(), before.map_or_else(Extra::new, |before| before.extra.clone()));
    match lacking.len() > CommitReport::MOST_LACKING || before.is_some_and(|before| before.up_to > up_to) {
        true => before.cloned(),
        false => Some(CommitReport { up_to, lacking, extra }),
    }
}

/// True if `next` proves a commit of a grant of `member` for which `before` does not.
pub(crate) fn proves_more(
    state: &GroupState,
    member: &Member,
    before: Option<&CommitReport>,
    next: Option<&CommitReport>,
) -> bool {
    next.is_some() && state.owned(member).any(|at| proves(state, next, at) && !proves(state, before, at))
}

/// True if the owner of `at`, whose session is there, has committed an offset under its grant.
pub(crate) fn has_committed(state: &GroupState, at: &TopicPartition) -> bool {
    let Some(owner) = state.owner(at) else { return false };
    let report = state.registration_of(&owner).and_then(|consumer| consumer.begun.as_ref());
    proves(state, report.and_then(|report| report.commits.as_ref()), at)
}

/// The topic of which an owner of `at` is known to have committed an offset, as the next grant notes it.
pub(crate) fn noted(state: &GroupState, at: &TopicPartition) -> Option<Revision> {
    let assignment = state.assignment(at)?;
    let proven = assignment.topic_since.filter(|_| has_committed(state, at));
    proven.or(assignment.committed_in)
}

/// An assignment that was written after the report may be another grant.
fn proves(state: &GroupState, report: Option<&CommitReport>, at: &TopicPartition) -> bool {
    let Some(report) = report else { return false };
    let is_covered = |entry| Entry::mod_revision(entry) <= report.up_to;
    state.assignments().get(at).is_some_and(is_covered) && !report.lacks(at)
}
