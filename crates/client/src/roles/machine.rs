//! The machine of the roles: all partitions of this member.

use std::collections::{BTreeMap, BTreeSet};

use super::ack::RoleAck;
use super::api::{RoleAction, RoleEvent};
use super::call::{Call, NextCall};
use super::change::RoleChange;
use super::entry::Entry;
use super::fences::Fences;
use super::role::ConsumerRole;
use super::unbegun::UnbegunRole;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::topic_id::TopicId;

/// The machine.
#[derive(Debug)]
pub(crate) struct Roles {
    max_warming: usize,
    leaving: bool,
    /// True if the claim of the stricter modes has run out.
    lapsed: bool,
    entries: BTreeMap<TopicPartition, Entry>,
    fences: Fences,
}

/// The number of partitions in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoleCounts {
    /// Processed by this member.
    pub owned: usize,
    /// Being prepared just now.
    pub warming: usize,
    /// Those of them that have made no progress for long, so that others may begin beside them.
    pub stalled: usize,
    /// With anything held or any call running.
    pub held: usize,
}

impl Roles {
    /// No partitions; at most `max_warming` (at least 1) preparations that get further at once.
    #[must_use]
    pub(crate) fn new(max_warming: usize) -> Self {
        Self {
            max_warming: max_warming.max(1),
            leaving: false,
            lapsed: false,
            entries: BTreeMap::new(),
            fences: Fences::default(),
        }
    }

    /// Takes an event in and says what to do.
    pub(crate) fn step(&mut self, now: Moment, event: RoleEvent) -> Vec<RoleAction> {
        let mut actions = Vec::new();
        self.take_in(now, event, &mut actions);
        self.reconcile(now, &mut actions);
        actions
    }

    /// The time at which [`RoleEvent::PreparationsSeen`] is due; `None` = not at all.
    #[must_use]
    pub(crate) fn next_wake(&self) -> Option<Moment> {
        self.entries.values().filter_map(Entry::next_wake).min()
    }

    /// The acknowledgements that are due, by partition.
    pub(crate) fn due_acks(&self) -> impl Iterator<Item = (&TopicPartition, RoleAck)> {
        self.entries.iter().filter_map(|(partition, entry)| Some((partition, entry.due_ack()?)))
    }

    /// The partitions with a running call that a handoff waits for, with that handoff: this member starts or stops.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (&TopicPartition, &HandoffId)> {
        self.entries.iter().filter_map(|(partition, entry)| Some((partition, entry.busy()?)))
    }

    /// The partitions that the service wants this member to own, and that it does not process yet.
    pub(crate) fn unbegun(&self) -> impl Iterator<Item = (&TopicPartition, UnbegunRole<'_>)> {
        self.entries.iter().filter_map(|(partition, entry)| Some((partition, entry.unbegun()?)))
    }

    /// The partitions that this member is fenced of and has dropped, each with the epoch that it was told.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = (&TopicPartition, Epoch)> {
        let is_dropped = |at: &TopicPartition| self.entries.get(at).is_none_or(|entry| !entry.is_lost());
        self.fences.named().filter(move |(at, _)| is_dropped(at))
    }

    /// True if the service has named `partition` as fenced up to `epoch` already.
    #[must_use]
    pub(crate) fn knows_fence(&self, partition: &TopicPartition, epoch: Epoch) -> bool {
        self.fences.named().any(|(at, named)| at == partition && named >= epoch)
    }

    /// True if the service waits for this member to drop a partition, or for its word that it has.
    #[must_use]
    pub(crate) fn is_fenced(&self) -> bool {
        self.fences.named().next().is_some()
    }

    /// The owned partitions in which a handoff waits for the end of the record in the works, with that handoff.
    pub(crate) fn resting(&self) -> impl Iterator<Item = (&TopicPartition, &HandoffId)> {
        self.entries.iter().filter_map(|(partition, entry)| Some((partition, entry.resting()?)))
    }

    /// The id of the topic that what is held of `partition`, or being made, is of; `None` = not known.
    #[must_use]
    pub(crate) fn topic_id(&self, partition: &TopicPartition) -> Option<TopicId> {
        self.entries.get(partition)?.topic_id()
    }

    /// True = everything is given up, since the process stops.
    #[must_use]
    pub(crate) const fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The record that the owner of `partition` is to pass over; `None` = none, or this member is not the owner.
    #[must_use]
    pub(crate) fn skipped(&self, partition: &TopicPartition) -> Option<Offset> {
        match &self.entries.get(partition)?.target {
            ConsumerRole::Owner(role) => role.skip,
            _ => None,
        }
    }

    /// The partitions that the service wants this member to own, with the epochs of their grants.
    pub(crate) fn owned_epochs(&self) -> impl Iterator<Item = (&TopicPartition, Epoch)> {
        self.entries.iter().filter_map(|(partition, entry)| match &entry.target {
            ConsumerRole::Owner(role) => Some((partition, role.epoch)),
            _ => None,
        })
    }

    /// True if an offset of `partition`, which this member is to own, is known to have been committed before its grant.
    #[must_use]
    pub(crate) fn was_committed(&self, partition: &TopicPartition) -> bool {
        let target = self.entries.get(partition).map(|entry| &entry.target);
        matches!(target, Some(ConsumerRole::Owner(role)) if role.was_committed)
    }

    /// True if the service wants this member to own `partition`.
    #[must_use]
    pub(crate) fn is_owner(&self, partition: &TopicPartition) -> bool {
        self.entries.get(partition).is_some_and(|entry| matches!(entry.target, ConsumerRole::Owner(_)))
    }

    /// The same, or to stop it and to keep it for now.
    #[must_use]
    pub(crate) fn is_owner_or_drains(&self, partition: &TopicPartition) -> bool {
        let drains = |entry: &Entry| matches!(entry.target, ConsumerRole::Draining(_));
        self.is_owner(partition) || self.entries.get(partition).is_some_and(drains)
    }

    /// True if a call for `partition` has failed under the grant that is there now.
    #[must_use]
    pub(crate) fn has_failed_under_grant(&self, partition: &TopicPartition) -> bool {
        self.entries.get(partition).is_some_and(Entry::has_failed_under_grant)
    }

    /// The number of calls for `partition` that have failed in a row; 0 where nothing is known of it.
    #[must_use]
    pub(crate) fn failures(&self, partition: &TopicPartition) -> u32 {
        self.entries.get(partition).map_or(0, Entry::failures)
    }

    /// True = nothing is held and nothing is running.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        self.entries.values().all(Entry::is_idle)
    }

    /// True = something is still held, or running, that was lost.
    #[must_use]
    pub(crate) fn has_lost(&self) -> bool {
        self.entries.values().any(Entry::is_lost)
    }

    /// The number of partitions in each state.
    #[must_use]
    pub(crate) fn counts(&self) -> RoleCounts {
        RoleCounts {
            owned: self.entries.values().filter(|e| e.is_owned()).count(),
            warming: self.entries.values().filter(|e| e.is_warming()).count(),
            stalled: self.entries.values().filter(|e| e.is_stalled()).count(),
            held: self.entries.values().filter(|e| !e.is_idle()).count(),
        }
    }

    fn take_in(&mut self, now: Moment, event: RoleEvent, actions: &mut Vec<RoleAction>) {
        match event {
            RoleEvent::Changed(_) if self.leaving => {}
            RoleEvent::Changed(RoleChange::All { roles, undecided }) => self.replace(roles, &undecided),
            RoleEvent::Changed(RoleChange::Some(targets)) => self.aim(targets, true),
            RoleEvent::SessionLost => self.lose(actions),
            RoleEvent::Fenced(named) => self.fence(named, actions),
            RoleEvent::ClaimLapsed => self.lapse(actions),
            RoleEvent::ClaimValid => self.lapsed = false,
            RoleEvent::LeaveAll => {
                self.leaving = true;
                self.entries.values_mut().for_each(Entry::leave);
            }
            RoleEvent::CallEnded { partition, result } => {
                if let Some(entry) = self.entries.get_mut(&partition) {
                    entry.ended(now, &result);
                }
            }
            RoleEvent::Spoiled(partition) => {
                if let Some(entry) = self.entries.get_mut(&partition) {
                    entry.spoil();
                }
            }
            RoleEvent::Acked { partition, kind, handoff } => {
                if let Some(entry) = self.entries.get_mut(&partition) {
                    entry.acked(kind, &handoff);
                }
            }
            RoleEvent::PreparationsSeen(done) => self.look(now, &done, actions),
        }
    }

    fn look(&mut self, now: Moment, done: &BTreeMap<TopicPartition, u64>, actions: &mut Vec<RoleAction>) {
        for (partition, entry) in self.entries.iter_mut().filter(|(_, entry)| entry.is_warming()) {
            if entry.look(now, done.get(partition).copied().unwrap_or_default()) {
                actions.push(RoleAction::Stalled(partition.clone()));
            }
        }
    }

    fn replace(
        &mut self,
        targets: Vec<(TopicPartition, ConsumerRole)>,
        undecided: &BTreeSet<TopicPartition>,
    ) {
        let listed: BTreeMap<_, _> = targets.into_iter().collect();
        let is_over = |at: &TopicPartition| !listed.contains_key(at) && !undecided.contains(at);
        for (_, entry) in self.entries.iter_mut().filter(|(partition, _)| is_over(partition)) {
            entry.aim(ConsumerRole::None, false);
        }
        self.aim(listed, false);
    }

    fn aim(&mut self, targets: impl IntoIterator<Item = (TopicPartition, ConsumerRole)>, unbroken: bool) {
        for (partition, target) in targets {
            let target = self.fences.allow(&partition, target);
            self.entries.entry(partition).or_default().aim(target, unbroken);
        }
    }

    /// Everything is lost, and whatever runs should end soon: it may wait for what can't come any more.
    fn lose(&mut self, actions: &mut Vec<RoleAction>) {
        self.fences = Fences::default();
        for (partition, entry) in &mut self.entries {
            entry.lose();
            if entry.cancel() {
                actions.push(RoleAction::Cancel(partition.clone()));
            }
        }
    }

    /// Owners under a fenced grant lose it now, in every mode, and the others go on.
    fn fence(&mut self, named: Vec<(TopicPartition, Epoch)>, actions: &mut Vec<RoleAction>) {
        for (partition, epoch) in &named {
            let Some(entry) = self.entries.get_mut(partition) else { continue };
            if entry.fence(*epoch) {
                actions.push(RoleAction::Cancel(partition.clone()));
            }
        }
        self.fences.name(named);
    }

    /// An owner under a stricter grant has to have stopped before the margin is over, so the partition is lost now. It is
    /// prepared again meanwhile, and begins when the claim is valid again.
    fn lapse(&mut self, actions: &mut Vec<RoleAction>) {
        self.lapsed = true;
        for (partition, entry) in &mut self.entries {
            if entry.lapse() {
                actions.push(RoleAction::Cancel(partition.clone()));
            }
        }
    }

    fn reconcile(&mut self, now: Moment, actions: &mut Vec<RoleAction>) {
        let mut waiting = Vec::new();
        for (partition, entry) in &mut self.entries {
            let turn = entry.turn_rest();
            actions.extend(turn.ends.then(|| RoleAction::EndRest(partition.clone())));
            actions.extend(turn.begins.then(|| RoleAction::Rest(partition.clone())));
            match entry.next(now) {
                NextCall::Nothing => {}
                NextCall::Call(call @ Call::Warm { .. }) => waiting.push((partition.clone(), call)),
                NextCall::Call(call) if self.lapsed && call.needs_claim() => {}
                NextCall::Call(call) => start(now, partition, entry, call, actions),
                NextCall::Cancel => {
                    entry.cancel();
                    actions.push(RoleAction::Cancel(partition.clone()));
                }
                NextCall::Recall => {
                    entry.recall();
                    actions.push(RoleAction::Recall(partition.clone()));
                }
                // It begins again under the new grant, with a claim that is valid for its mode.
                NextCall::RaiseEpoch { strict: true, .. } if self.lapsed => {
                    start(now, partition, entry, Call::Lost, actions);
                }
                NextCall::RaiseEpoch { epoch, strict } => {
                    entry.go_on(epoch, strict);
                    actions.push(RoleAction::RaiseEpoch { partition: partition.clone(), epoch, strict });
                }
            }
        }
        self.start_warming(now, waiting, actions);
        self.forget(actions);
    }

    /// Starts as many preparations as the bound allows. Partitions that nobody processes meanwhile go first, but for those
    /// whose calls fail: they go last, the more often the later. Or those that can't be read would keep all places. One that
    /// gets no further has no place; of such at most as many as there are places, so that never more than twice as many run.
    fn start_warming(
        &mut self,
        now: Moment,
        mut waiting: Vec<(TopicPartition, Call)>,
        actions: &mut Vec<RoleAction>,
    ) {
        let RoleCounts { warming, stalled, .. } = self.counts();
        let free = self.max_warming.saturating_sub(warming - stalled.min(self.max_warming));
        waiting.sort_by_key(|(partition, call)| {
            let failures = self.failures(partition);
            (failures > 0, matches!(call, Call::Warm { current_owner: Some(_), .. }), failures)
        });
        for (partition, call) in waiting.into_iter().take(free) {
            if let Some(entry) = self.entries.get_mut(&partition) {
                start(now, &partition, entry, call, actions);
            }
        }
    }

    fn forget(&mut self, actions: &mut Vec<RoleAction>) {
        self.entries.retain(|partition, entry| {
            if entry.is_over() {
                actions.push(RoleAction::Forget(partition.clone()));
            }
            !entry.is_over()
        });
    }
}

fn start(
    now: Moment,
    partition: &TopicPartition,
    entry: &mut Entry,
    call: Call,
    actions: &mut Vec<RoleAction>,
) {
    entry.started(now, call.clone());
    actions.push(RoleAction::Call(partition.clone(), call));
}
