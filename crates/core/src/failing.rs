//! Partitions whose next record fails for long: the reports of their owners, which are shown. Nothing is decided by them: a record
//! that fails may be handled with the next try.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::one_line::in_one_line;
use crate::record::{Consumer, Extra, FailingReport, RecordFailure};
use crate::state::GroupState;
use crate::stops::standing;
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};

/// The shortest time from the last write of a registration to one for the sake of this report. For people, who are told of a record
/// a minute after its first failure; a consumer whose records come and go as failing costs the group no more than this.
pub const WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// The report of a consumer as it comes in a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToldFailures {
    /// The records that it names.
    pub named: Vec<(TopicPartition, RecordFailure)>,
    /// The number of partitions that it does not name.
    pub unnamed: u32,
}

/// The report of `member` as it is kept in the registration `consumer`; `None` where it says nothing new, which another error
/// of the same records is not. Of what the member does not own under the epoch that it names, nothing is taken in.
#[must_use]
pub fn news(
    state: &GroupState,
    member: &Member,
    consumer: &Consumer,
    told: ToldFailures,
) -> Option<FailingReport> {
    // Nearly all heartbeats say that nothing fails.
    if told == ToldFailures::default() && consumer.failing.is_empty() {
        return None;
    }
    let owned: BTreeMap<&TopicPartition, Epoch> =
        state.owned(member).filter_map(|at| Some((at, state.assignment(at)?.held_epoch()))).collect();
    let named = told.named.into_iter().filter(|(at, failure)| owned.get(at) == Some(&failure.epoch));
    let named =
        named.take(FailingReport::MOST_NAMED).map(|(at, failure)| (at.to_string(), in_bounds(&failure)));
    let named: BTreeMap<_, _> = named.collect();
    // Nobody has more that fail than it owns.
    let others = u32::try_from(owned.len() - named.len()).unwrap_or(u32::MAX);
    let before = &consumer.failing;
    let next = FailingReport { named, unnamed: told.unnamed.min(others), extra: before.extra.clone() };
    let is_news = records(&next) != records(before) || next.unnamed != before.unnamed;
    is_news.then_some(next)
}

/// The records that a report names.
fn records(report: &FailingReport) -> BTreeMap<&str, (Epoch, Offset)> {
    report.named.iter().map(|(at, failure)| (&**at, (failure.epoch, failure.offset))).collect()
}

/// The next record of `at`, where its owner says that it has failed for long; `None` = it has not said so under the present grant,
/// or the partition stands since.
#[must_use]
pub fn failure<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s RecordFailure> {
    let assignment = state.assignment(at)?;
    let owner = assignment.owner.as_ref()?.member();
    if standing(state, at).is_some() {
        return None;
    }
    state.registration_of(&owner)?.failing.entry(at, assignment.held_epoch())
}

/// The number of partitions of `member` whose next record has failed for long, with those that its report does not name.
#[must_use]
pub fn count(state: &GroupState, member: &Member) -> usize {
    let Some(registration) = state.registration_of(member) else { return 0 };
    let report = &registration.failing;
    if report.is_empty() {
        return 0;
    }
    let (named, others): (Vec<_>, Vec<_>) = state.owned(member).partition(|at| failure(state, at).is_some());
    // Those that it does not name may have gone to others since.
    named.len() + others.len().min(usize::try_from(report.unnamed).unwrap_or(usize::MAX))
}

/// An entry with a reason as it is kept.
fn in_bounds(failure: &RecordFailure) -> RecordFailure {
    let reason = in_one_line(&failure.reason, RecordFailure::MOST_REASON);
    RecordFailure { reason, extra: Extra::new(), ..*failure }
}
