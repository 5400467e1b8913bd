//! Partitions that stand before a record that their owner can't handle: reports of owners, and operators' commands.
//!
//! | who stopped before the record | what follows |
//! | --- | --- |
//! | the owner | it stays the owner; the partition moves as any other, and the next owner tries the record |
//! | another consumer after it | nobody is granted the partition until an operator resumes it |
//!
//! Reports are levels: a repeated one changes nothing, and the mark of a session goes once a whole report of that session
//! names the partition no more.

use std::collections::{BTreeMap, BTreeSet};

use crate::draft::Draft;
use crate::one_line::in_one_line;
use crate::record::{Assignment, Extra, Owner, Resumed, Stop};
use crate::state::{Entry, GroupState};
use crate::view::{Role, role};
use crate::write::Write;
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;
use kafka_assigner_types::stops::MOST_STOPPED;

/// The report of an owner about one partition that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopReport {
    /// The partition.
    pub at: TopicPartition,
    /// The epoch under which it stands; 0: its state can't be built.
    pub epoch: Epoch,
    /// The offset of the record.
    pub offset: Offset,
    /// The reason, for people; it is cut to [`Stop::MOST_REASON`] characters, and control characters become spaces.
    pub reason: String,
    /// True if no record has failed: its owner could not end its work for a move.
    pub is_of_drain: bool,
}

/// The writes that bring the marks in line with the report of `member`, which names every partition of it that stands; one
/// write for each partition of which it says something new. Of what it does not own under the epoch that it names, nothing
/// is taken in. With [`MOST_STOPPED`] partitions it had no room for more, and is as [`report_in_part`].
#[must_use]
pub fn report(state: &GroupState, member: &Member, reports: &[StopReport], wall: WallMillis) -> Vec<Write> {
    let mut writes = report_in_part(state, member, reports, wall);
    if reports.len() < MOST_STOPPED {
        let told: BTreeSet<&TopicPartition> = reports.iter().map(|report| &report.at).collect();
        let untold = state.concerned(&member.name).filter(|at| !told.contains(at));
        writes.extend(untold.filter_map(|at| marked(state, member, at, &went_on(state, member, at)?)));
    }
    writes
}

/// The same for a report that may lack partitions that stand: what it does not name keeps its mark.
#[must_use]
pub fn report_in_part(
    state: &GroupState,
    member: &Member,
    reports: &[StopReport],
    wall: WallMillis,
) -> Vec<Write> {
    let told: BTreeMap<&TopicPartition, &StopReport> =
        reports.iter().take(MOST_STOPPED).map(|report| (&report.at, report)).collect();
    let write = |(at, report)| marked(state, member, at, &stopped(state, member, report, wall)?);
    told.into_iter().filter_map(write).collect()
}

/// The write of `next`, guarded on the session of `member`; `None` where that one is not registered.
fn marked(state: &GroupState, member: &Member, at: &TopicPartition, next: &Assignment) -> Option<Write> {
    let registration = state.registration_of(member)?;
    Some(Draft::on(state).registered(&member.name, registration).assign(at, next).into_write())
}

/// The assignment with the mark of a report; `None` where it says nothing new, or is not the member's to say.
fn stopped(state: &GroupState, member: &Member, report: &StopReport, wall: WallMillis) -> Option<Assignment> {
    let (assignment, epoch) = owned(state, member, &report.at)?;
    if report.epoch != epoch && report.epoch != Epoch::default() {
        return None;
    }
    let before = assignment.stop.as_ref().filter(|stop| stop.offset == report.offset);
    if before.is_some_and(|stop| stop.is_by(member) && !is_news(stop, report)) {
        return None;
    }
    let stop = Stop {
        offset: report.offset,
        reason: in_one_line(&report.reason, Stop::MOST_REASON),
        consumer: member.name.clone(),
        incarnation: member.incarnation.clone(),
        epoch: report.epoch,
        is_of_drain: report.is_of_drain,
        // An owner that could not end its work has not tried the record.
        earlier: before
            .filter(|stop| stop.is_of_drain == report.is_of_drain)
            .and_then(|stop| another(stop, member)),
        resumed: None,
        since: before.filter(|stop| stop.is_by(member)).map_or(wall, |stop| stop.since),
        extra: Extra::new(),
    };
    Some(Assignment { stop: Some(stop), ..assignment.clone() })
}

/// True if the owner that could not end its work before a record has tried that one since, and failed. The other way round the
/// record has failed all the same, and an operator's command stands.
const fn is_news(stop: &Stop, report: &StopReport) -> bool {
    stop.is_of_drain && !report.is_of_drain && stop.resumed.is_none()
}

/// The other consumer that stopped before the same record; another session of the same consumer is none.
fn another(before: &Stop, member: &Member) -> Option<MemberName> {
    match before.consumer == member.name {
        true => before.earlier.clone(),
        false => Some(before.consumer.clone()),
    }
}

/// The assignment without the mark of `member`, which does not stand there any more; `None` where it has none. A mark that
/// an operator's command lies in goes with the grant that carries the command out.
fn went_on(state: &GroupState, member: &Member, at: &TopicPartition) -> Option<Assignment> {
    // Most partitions have none, and every heartbeat asks for each.
    let is_its = |stop: &&Stop| stop.is_by(member) && stop.resumed.is_none();
    state.assignment(at)?.stop.as_ref().filter(is_its)?;
    let (assignment, _) = owned(state, member, at)?;
    Some(Assignment { stop: None, ..assignment.clone() })
}

/// The assignment of `at` with its epoch, where it can be read and `member` works on it: one that was asked to stop says
/// nothing of it any more, and a new owner has its try until it says that it works.
fn owned<'s>(state: &'s GroupState, member: &Member, at: &TopicPartition) -> Option<(&'s Assignment, Epoch)> {
    let assignment = state.assignments().get(at).and_then(Entry::readable)?;
    let is_owner = assignment.owner.as_ref().is_some_and(|owner| owner.is(member));
    if !is_owner || state.error_at(at).is_some() {
        return None;
    }
    let Some(Role::Owner { epoch, taking: None, .. }) = role(state, member, at) else { return None };
    Some((assignment, epoch))
}

/// The mark of a partition that stands now: its owner stopped and has not been resumed, or it is granted to nobody.
/// `None` also where an earlier owner stopped and the present one has its try.
#[must_use]
pub fn standing<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s Stop> {
    let assignment = state.assignment(at)?;
    let stop = assignment.stop.as_ref()?;
    let is_owners = || {
        let owner = assignment.owner.as_ref().map(Owner::member);
        owner.is_some_and(|owner| stop.is_by(&owner) && !state.presence(&owner).is_over())
    };
    (stop.is_last() || (stop.resumed.is_none() && is_owners())).then_some(stop)
}

/// The mark for which `unit` is granted to nobody: that of a partition before a record of which two consumers stopped.
#[must_use]
pub fn held<'s>(state: &'s GroupState, unit: &[TopicPartition]) -> Option<(TopicPartition, &'s Stop)> {
    unit.iter().find_map(|at| {
        let stop = state.assignment(at)?.stop.as_ref()?;
        stop.is_last().then(|| (at.clone(), stop))
    })
}

/// The reason why a partition can't be resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotResumed {
    /// No owner of it stands.
    #[error("it does not stand before a record")]
    NotStopped,
    /// It has not begun: its state can't be built, or its start fails. So passing a record over in processing helps nobody.
    #[error("its owner can't begin at offset {offset}, so that there is no record to skip")]
    NotBegun {
        /// The offset of the record.
        offset: Offset,
    },
    /// No record has failed, and the next one is to be processed.
    #[error("its owner could not end its work before offset {offset}, so that there is no record to skip")]
    NotARecord {
        /// The offset of the next record.
        offset: Offset,
    },
    /// A record of it can't be read.
    #[error("a record of it can't be read: {error}")]
    Unreadable {
        /// The error.
        error: String,
    },
}

/// An operator's command for a partition that stands, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumption {
    /// The mark, as it was.
    pub stop: Stop,
    /// The write; `None`: the same command was recorded before.
    pub write: Option<Write>,
}

/// The record of an operator's command that the partition goes on: with another try of the record, or with `skip` behind
/// it. The group's leader then grants the partition: to its owner again, or to whom the strategy chooses.
///
/// # Errors
/// [`NotResumed`].
pub fn resume(state: &GroupState, at: &TopicPartition, skip: bool) -> Result<Resumption, NotResumed> {
    if let Some(error) = state.error_at(at) {
        return Err(NotResumed::Unreadable { error: error.to_owned() });
    }
    let commanded = |stop: &&Stop| stop.resumed.is_some();
    let assignment = state.assignment(at).ok_or(NotResumed::NotStopped)?;
    let stop = standing(state, at).or_else(|| assignment.stop.as_ref().filter(commanded));
    let stop = stop.ok_or(NotResumed::NotStopped)?;
    if skip && stop.epoch == Epoch::default() {
        return Err(NotResumed::NotBegun { offset: stop.offset });
    }
    if skip && stop.is_of_drain {
        return Err(NotResumed::NotARecord { offset: stop.offset });
    }
    let resumed = Some(if skip { Resumed::Skip } else { Resumed::Again });
    let write = (stop.resumed != resumed).then(|| {
        let next = Assignment { stop: Some(Stop { resumed, ..stop.clone() }), ..assignment.clone() };
        Draft::on(state).assign(at, &next).into_write()
    });
    Ok(Resumption { stop: stop.clone(), write })
}
