//! The grants that do not begin: since when the leader has seen no progress of them, [`UnbegunGrants`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::key::decode_partition;
use crate::record::{BegunReport, UnbegunGrant, UnbegunReason};
use crate::state::GroupState;
use kafka_assigner_types::id::{Epoch, Incarnation, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// The least time without progress: owners tell how far they are each 20 s, and one of these reports may be lost.
const LEAST: Duration = Duration::from_secs(45);

/// The grants that their owners have not begun, by owner.
#[derive(Debug, Clone, Default)]
pub(super) struct UnbegunGrants(BTreeMap<MemberName, OwnersGrants>);

#[derive(Debug, Clone)]
struct OwnersGrants {
    incarnation: Incarnation,
    /// The moment at which anything that this owner prepares has progressed last.
    progressed: Moment,
    grants: BTreeMap<TopicPartition, UnbegunSighting>,
}

/// A grant that does not begin, as the leader has seen it.
///
/// Progress is that more is done, that the end becomes known (once), or that it comes to a later stage (once for each). A
/// call that fails and is tried again is none, however often.
#[derive(Debug, Clone, Copy)]
struct UnbegunSighting {
    epoch: Epoch,
    /// The latest stage that it has come to.
    stage: u8,
    done: u64,
    is_end_known: bool,
    /// True if other partitions of the same owner are prepared first.
    waits: bool,
    /// True if it has its state, and does not end its first record.
    starts: bool,
    progressed: Moment,
}

impl UnbegunGrants {
    /// Takes in what `name` has reported. `progresses` is true if a preparation of it for a handoff does.
    pub(super) fn see(&mut self, state: &GroupState, name: &MemberName, progresses: bool, now: Moment) {
        let before = self.0.remove(name);
        let Some(consumer) = state.registration(name).filter(|consumer| !consumer.is_ending()) else {
            return;
        };
        let Some(report) = consumer.begun.as_ref().filter(|report| !report.named.is_empty()) else { return };
        let incarnation = consumer.incarnation.clone();
        let before = before.filter(|seen| seen.incarnation == incarnation);
        let new = || OwnersGrants { incarnation, progressed: now, grants: BTreeMap::new() };
        self.0.insert(name.clone(), before.unwrap_or_else(new).after(report, progresses, now));
    }

    /// True if the owner of `at`, as it is now, has not begun it, and its time for that is over.
    pub(super) fn is_late(&self, state: &GroupState, at: &TopicPartition, now: Moment) -> bool {
        let Some(assignment) = state.assignment(at) else { return false };
        let Some(owner) = &assignment.owner else { return false };
        let Some(seen) = self.0.get(&owner.name).filter(|seen| seen.incarnation == owner.incarnation) else {
            return false;
        };
        let grant = seen.grants.get(at).filter(|grant| grant.epoch == assignment.held_epoch());
        grant.is_some_and(|grant| seen.due(grant, state) <= now)
    }

    /// The owners, among those that do not seem to be dead, that have not begun a grant in its time.
    pub(super) fn late_owners<'a>(
        &'a self,
        state: &'a GroupState,
        now: Moment,
    ) -> impl Iterator<Item = &'a MemberName> {
        let is_late = move |name: &MemberName, at: &TopicPartition| {
            let owner = state.owner(at).filter(|owner| owner.name == *name);
            owner.is_some_and(|owner| state.suspicion(&owner).is_none()) && self.is_late(state, at, now)
        };
        let owners = self.0.iter().filter(move |(name, seen)| seen.grants.keys().any(|at| is_late(name, at)));
        owners.map(|(name, _)| name)
    }

    /// The moments at which the times of grants are over.
    pub(super) fn times(&self, state: &GroupState) -> impl Iterator<Item = Moment> {
        self.0.values().flat_map(move |seen| seen.grants.values().map(move |grant| seen.due(grant, state)))
    }
}

impl OwnersGrants {
    fn after(mut self, report: &BegunReport, progresses: bool, now: Moment) -> Self {
        let mut before = std::mem::take(&mut self.grants);
        let mut is_progress = progresses;
        for (at, grant) in report.named.iter().filter_map(|(at, grant)| Some((decode_partition(at)?, grant)))
        {
            let mut next = UnbegunSighting::new(grant, now);
            if let Some(seen) = before.remove(&at).filter(|seen| seen.epoch == grant.epoch) {
                is_progress |= seen.is_surpassed_by(&next);
                next = seen.followed_by(next);
            }
            self.grants.insert(at, next);
        }
        // A grant that is named no more has begun, or is another's: its place is free either way.
        is_progress |= !before.is_empty();
        Self { progressed: if is_progress { now } else { self.progressed }, ..self }
    }

    /// The moment at which the time of `grant` is over. One that waits for its place is not late while what its owner
    /// prepares progresses.
    fn due(&self, grant: &UnbegunSighting, state: &GroupState) -> Moment {
        let since = if grant.waits { grant.progressed.max(self.progressed) } else { grant.progressed };
        since + grant.deadline(state)
    }
}

impl UnbegunSighting {
    fn new(grant: &UnbegunGrant, now: Moment) -> Self {
        Self {
            epoch: grant.epoch,
            stage: stage(&grant.why),
            done: grant.done,
            is_end_known: grant.total.is_some(),
            waits: grant.why == UnbegunReason::Place,
            starts: grant.why == UnbegunReason::Starting,
            progressed: now,
        }
    }

    /// True if `next`, the same grant as it is told later, shows progress.
    const fn is_surpassed_by(&self, next: &Self) -> bool {
        let ends_known = next.is_end_known && !self.is_end_known;
        next.stage > self.stage || next.done > self.done || ends_known
    }

    fn followed_by(&self, next: Self) -> Self {
        Self {
            stage: self.stage.max(next.stage),
            done: self.done.max(next.done),
            is_end_known: self.is_end_known || next.is_end_known,
            progressed: if self.is_surpassed_by(&next) { next.progressed } else { self.progressed },
            ..next
        }
    }

    /// The longest time that the grant may go without progress: that of a warm-up, and while the first record is in the
    /// works that of a record.
    fn deadline(&self, state: &GroupState) -> Duration {
        let warm = state.configured(|config| config.warm_deadline_ms);
        let record = state.configured(|config| config.drain_deadline_ms);
        Duration::from_millis(if self.starts { warm.max(record) } else { warm }).max(LEAST)
    }
}

/// The place of a reason in the order in which an owner begins.
const fn stage(why: &UnbegunReason) -> u8 {
    match why {
        UnbegunReason::Preparing => 1,
        UnbegunReason::Claim => 2,
        UnbegunReason::Starting => 3,
        UnbegunReason::Place | UnbegunReason::Clearing | UnbegunReason::Failing | UnbegunReason::Other(_) => {
            0
        }
    }
}
