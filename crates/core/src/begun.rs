//! Grants that their owners have not begun: the reports of consumers, and what they tell of a partition.
//!
//! Owners report exceptions and not confirmations: a confirmation for each partition would double the writes of a group
//! that starts. A report covers what its consumer had been told of when it was sent; what it covers and does not name has
//! begun.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::committed::{next_report, proves_more};
use crate::one_line::in_one_line;
use crate::record::{BegunReport, Consumer, Extra, UnbegunGrant, UnbegunReason};
use crate::state::{Entry, GroupState};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;

/// The report of a consumer as it comes in a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldGrants {
    /// The state of the group that the consumer's stream had told when the report was sent.
    pub told: StreamReach,
    /// The grants that it has not begun and names.
    pub named: Vec<(TopicPartition, UnbegunGrant)>,
    /// The number of those that it does not name.
    pub unnamed: u32,
    /// The partitions that it owns and of which no commit was acknowledged under the grant; `None`: it does not tell, or
    /// never commits.
    pub uncommitted: Option<Vec<TopicPartition>>,
}

/// The part of a group's state that a consumer's stream had told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamReach {
    /// All that the state has to tell it.
    Everything,
    /// All that was written up to a revision.
    UpTo(Revision),
    /// It has no stream just now: what an earlier report covered stays covered, and no more.
    AsBefore,
}

/// The stage in which a grant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantStage<'s> {
    /// No report of its owner covers it.
    Granted,
    /// Its owner says that it has not begun.
    NotBegun(&'s UnbegunGrant),
    /// Its owner has begun.
    Begun,
}

/// The stage of the grant of `at`; `None` where its owner does not tell, is not here, or nobody owns it.
#[must_use]
pub fn grant_stage<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<GrantStage<'s>> {
    let assignment = state.assignment(at)?;
    let owner = assignment.owner.as_ref()?.member();
    let report = state.registration_of(&owner)?.begun.as_ref()?;
    let epoch = assignment.held_epoch();
    Some(match report.entry(at, epoch) {
        Some(grant) => GrantStage::NotBegun(grant),
        None if epoch <= report.covered => GrantStage::Begun,
        None => GrantStage::Granted,
    })
}

/// The report of `member` as it is kept beside the registration `consumer`; `None` where it says nothing new. Of what the
/// member does not own under the epoch that it names, nothing is taken in.
#[must_use]
pub fn news(
    state: &GroupState,
    member: &Member,
    consumer: &Consumer,
    told: ToldGrants,
) -> Option<BegunReport> {
    let before = consumer.begun.clone().unwrap_or_default();
    let owned: BTreeMap<&TopicPartition, Epoch> =
        state.owned(member).filter_map(|at| Some((at, state.assignment(at)?.held_epoch()))).collect();
    let unnamed = told.unnamed;
    let covered = match told.told {
        StreamReach::AsBefore if unnamed == 0 => before.covered,
        _ => covered(state, &told, &owned),
    };
    let commits = next_report(state, member, before.commits.as_ref(), told.told, told.uncommitted.as_deref());
    let named = told.named.into_iter().filter(|(at, grant)| owned.get(at) == Some(&grant.epoch));
    let named = named.take(BegunReport::MOST_NAMED).map(|(at, grant)| (at.to_string(), in_bounds(grant)));
    let next = BegunReport { covered, named: named.collect(), unnamed, commits, extra: before.extra.clone() };
    let covers_others = || owned.values().any(|epoch| (*epoch <= before.covered) != (*epoch <= next.covered));
    let is_news = consumer.begun.is_none()
        || next.named != before.named
        || next.unnamed != before.unnamed
        || covers_others()
        || proves_more(state, member, before.commits.as_ref(), next.commits.as_ref());
    is_news.then_some(next)
}

/// The shortest time from the last write of a report to that of `next`, where `before` is what is written: a quarter of the
/// deadline that it extends, or of a phase where other grants have not begun than before. The end of all of them is written
/// at once, once for each such report.
#[must_use]
pub fn write_interval(state: &GroupState, before: Option<&BegunReport>, next: &BegunReport) -> Duration {
    let quarter = |ms: u64| Duration::from_millis(ms) / 4;
    let reasons = |report: &BegunReport| -> Vec<(String, UnbegunReason)> {
        report.named.iter().map(|(at, grant)| (at.clone(), grant.why.clone())).collect()
    };
    match before {
        Some(before) if before.count() > 0 && next.count() == 0 => Duration::ZERO,
        Some(before) if reasons(before) == reasons(next) && before.covered == next.covered => {
            quarter(state.configured(|config| config.warm_deadline_ms))
        }
        _ => quarter(state.configured(|config| config.phase_deadline_ms)),
    }
}

/// The highest epoch up to which the grants of a consumer, `owned`, are covered by what it has `told`.
fn covered(state: &GroupState, told: &ToldGrants, owned: &BTreeMap<&TopicPartition, Epoch>) -> Epoch {
    if told.unnamed > 0 {
        return Epoch::default();
    }
    let is_told = |at: &TopicPartition| match told.told {
        StreamReach::Everything => true,
        StreamReach::AsBefore => false,
        StreamReach::UpTo(revision) => {
            state.assignments().get(at).is_some_and(|entry| Entry::mod_revision(entry) <= revision)
        }
    };
    let (known, missed): (Vec<_>, Vec<_>) = owned.iter().partition(|(at, _)| is_told(at));
    let lowest_missed = missed.into_iter().map(|(_, epoch)| *epoch).min();
    let below = known.into_iter().map(|(_, epoch)| *epoch);
    below.filter(|epoch| lowest_missed.is_none_or(|missed| *epoch < missed)).max().unwrap_or_default()
}

/// An entry with a message as it is kept.
fn in_bounds(grant: UnbegunGrant) -> UnbegunGrant {
    let message = in_one_line(&grant.message, UnbegunGrant::MOST_MESSAGE);
    UnbegunGrant { message, extra: Extra::new(), ..grant }
}
