//! The roles of this member, and the handler calls that lead from one to the next.
//!
//! A pure, level-triggered machine: commands only set the *wanted* role; at every step each
//! partition's next call follows from that role and from what the handler holds of it. So a command that is repeated, skipped or overtaken
//! changes nothing that a later one doesn't set right.
//!
//! ```text
//!            Warm ok            Assigned ok           Drain ok
//!  Nothing ──────────► Warm ────────────────► Owned ──────────► Drained
//!     ▲                 │ └─► CaughtUp ─┘      │ ▲                  │
//!     │                 │                      │ └─── Assigned ─────┤
//!     │                 │                      │ Lost               │
//!     └──── Release ────┴──────────────────────┴──── Release ───────┘
//! ```
//!
//! Guarantees: one call at a time for each partition; never more than the given number of preparations at
//! once; a preparation is used only for the handoff or the run it was made for; an owner that is granted again
//! goes on without a call, or with the state that it kept when it was drained; what its handler calls spoiled is lost
//! and prepared again; a failed call is repeated, and nothing counts as given up before the handler said so. Under a
//! grant of a stricter mode it acts only while the session's claim is valid: when that lapses, the partition is lost.

mod change;
mod entry;
mod role;

use std::collections::{BTreeMap, BTreeSet};

pub use change::RoleChange;
use entry::{Entry, NextCall};
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;
pub use role::{
    CatchingUpRole, ConsumerRole, DrainingRole, OwnerRole, Provenance, ReleasingRole, WarmingRole,
};

/// A call of the handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Prepare.
    Warm {
        /// The purpose of the preparation.
        provenance: Provenance,
        /// The consumer that owns the partition meanwhile; `None` = nobody.
        current_owner: Option<String>,
    },
    /// Take every fence, then read what is left.
    CatchUp {
        /// The handoff.
        handoff: HandoffId,
        /// The epoch that is reserved for it.
        epoch: Epoch,
        /// The offset at which the old owner stopped; `None` = it did not say.
        until: Option<Offset>,
    },
    /// Begin to process.
    Assigned {
        /// The fencing token.
        epoch: Epoch,
        /// The offset to start at; `None` = the committed one.
        start: Option<Offset>,
        /// True = after a drain, with the state that was kept.
        resumed: bool,
        /// True if the mode of the grant promises one owner at a time.
        strict: bool,
    },
    /// Stop, finish and commit.
    Drain,
    /// Drop what is left.
    Release,
    /// Stop without committing, and drop everything.
    Lost,
}

impl Call {
    /// True if it may only begin while the claim of the stricter modes is valid. A fence that is taken without it
    /// would shut out the rightful owner.
    const fn needs_claim(&self) -> bool {
        matches!(self, Self::CatchUp { .. } | Self::Assigned { strict: true, .. })
    }
}

/// The result of a call. A drain returns the offset after the last handled record, where it knows one.
pub type CallResult = Result<Option<Offset>, CallFailure>;

/// The failure of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// For people.
    pub message: String,
    /// True = what the call began with is of no use any more, and has to be prepared again.
    pub spoiled: bool,
}

/// The kinds of acknowledgements about a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AckKind {
    /// The preparation is done.
    Ready,
    /// The preparation failed.
    WarmFailed,
    /// It has stopped, and keeps its state.
    Drained,
    /// It has its fences, and has read what was left.
    CaughtUp,
    /// It processes.
    Taken,
    /// It has stopped and dropped everything.
    Released,
}

impl AckKind {
    /// All of them, those first on which a gap depends.
    pub const ALL: [Self; 6] =
        [Self::Drained, Self::CaughtUp, Self::Ready, Self::WarmFailed, Self::Taken, Self::Released];
}

/// One acknowledgement that waits for a definite answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleAck {
    /// The content.
    pub kind: AckKind,
    /// The handoff it is about.
    pub handoff: HandoffId,
    /// With [`AckKind::WarmFailed`]: why.
    pub message: String,
    /// With [`AckKind::Drained`]: where it stopped; `None` = it does not know.
    pub next_offset: Option<Offset>,
}

/// An event that the machine takes in.
#[derive(Debug)]
pub enum RoleEvent {
    /// The service said something about partitions.
    Changed(RoleChange),
    /// The session is over.
    SessionLost,
    /// The claim of the stricter modes has run out, by this client's own clock.
    ClaimLapsed,
    /// It is valid, for the first time or again.
    ClaimValid,
    /// The process stops: give everything up, and ignore what the service says from here on.
    LeaveAll,
    /// A call of the handler ended.
    CallEnded {
        /// For this partition.
        partition: TopicPartition,
        /// Its result.
        result: CallResult,
    },
    /// The handler can't go on with what it holds of this partition.
    Spoiled(TopicPartition),
    /// The service answered an acknowledgement definitely.
    Acked {
        /// For this partition.
        partition: TopicPartition,
        /// The kind of the acknowledgement.
        kind: AckKind,
        /// For this handoff.
        handoff: HandoffId,
    },
    /// Time passed.
    Timer,
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleAction {
    /// Call the handler; the end comes back as [`RoleEvent::CallEnded`].
    Call(TopicPartition, Call),
    /// Tell the running call that its result is not wanted any more.
    Cancel(TopicPartition),
    /// Tell the running drain that it is not wanted any more. Before the handler was called it ends undone, and its claim
    /// goes on; afterwards it can't be stopped.
    Recall(TopicPartition),
    /// The owner goes on, as a rule under a higher epoch, and admits requests.
    RaiseEpoch {
        /// For this partition.
        partition: TopicPartition,
        /// The epoch.
        epoch: Epoch,
        /// True if the mode of the new grant promises one owner at a time.
        strict: bool,
    },
    /// Nothing is left of the partition.
    Forget(TopicPartition),
}

/// The machine.
#[derive(Debug)]
pub struct Roles {
    max_warming: usize,
    leaving: bool,
    /// True if the claim of the stricter modes has run out.
    lapsed: bool,
    entries: BTreeMap<TopicPartition, Entry>,
}

/// The number of partitions in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoleCounts {
    /// Processed by this member.
    pub owned: usize,
    /// Being prepared just now.
    pub warming: usize,
    /// With anything held or any call running.
    pub held: usize,
}

impl Roles {
    /// No partitions; at most `max_warming` (at least 1) preparations at once.
    #[must_use]
    pub fn new(max_warming: usize) -> Self {
        Self { max_warming: max_warming.max(1), leaving: false, lapsed: false, entries: BTreeMap::new() }
    }

    /// Takes an event in and says what to do.
    pub fn step(&mut self, now: Moment, event: RoleEvent) -> Vec<RoleAction> {
        let mut actions = Vec::new();
        self.take_in(now, event, &mut actions);
        self.reconcile(now, &mut actions);
        actions
    }

    /// The time at which [`RoleEvent::Timer`] is due; `None` = not at all.
    #[must_use]
    pub fn next_wake(&self) -> Option<Moment> {
        self.entries.values().filter_map(Entry::retry_at).min()
    }

    /// The acknowledgements that are due, by partition.
    pub fn due_acks(&self) -> impl Iterator<Item = (&TopicPartition, RoleAck)> {
        self.entries.iter().filter_map(|(partition, entry)| Some((partition, entry.due_ack()?)))
    }

    /// True = nothing is held and nothing is running.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.entries.values().all(Entry::is_idle)
    }

    /// True = something is still held, or running, that was lost.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.entries.values().any(Entry::is_lost)
    }

    /// The number of partitions in each state.
    #[must_use]
    pub fn counts(&self) -> RoleCounts {
        RoleCounts {
            owned: self.entries.values().filter(|e| e.is_owned()).count(),
            warming: self.entries.values().filter(|e| e.is_warming()).count(),
            held: self.entries.values().filter(|e| !e.is_idle()).count(),
        }
    }

    fn take_in(&mut self, now: Moment, event: RoleEvent, actions: &mut Vec<RoleAction>) {
        match event {
            RoleEvent::Changed(_) if self.leaving => {}
            RoleEvent::Changed(RoleChange::All { roles, undecided }) => self.replace(roles, &undecided),
            RoleEvent::Changed(RoleChange::Some(targets)) => self.aim(targets, true),
            RoleEvent::SessionLost => self.lose(actions),
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
            RoleEvent::Timer => {}
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
            self.entries.entry(partition).or_default().aim(target, unbroken);
        }
    }

    /// Everything is lost, and whatever runs should end soon: it may wait for what can't come any more.
    fn lose(&mut self, actions: &mut Vec<RoleAction>) {
        for (partition, entry) in &mut self.entries {
            entry.lose();
            if entry.cancel() {
                actions.push(RoleAction::Cancel(partition.clone()));
            }
        }
    }

    /// Whoever acts under a stricter grant has to have stopped before the margin is over, so it is lost now. It is
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
            match entry.next(now) {
                NextCall::Nothing => {}
                NextCall::Call(call @ Call::Warm { .. }) => waiting.push((partition.clone(), call)),
                NextCall::Call(call) if self.lapsed && call.needs_claim() => {}
                NextCall::Call(call) => start(partition, entry, call, actions),
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
                    start(partition, entry, Call::Lost, actions);
                }
                NextCall::RaiseEpoch { epoch, strict } => {
                    entry.go_on(epoch, strict);
                    actions.push(RoleAction::RaiseEpoch { partition: partition.clone(), epoch, strict });
                }
            }
        }
        self.start_warming(waiting, actions);
        self.forget(actions);
    }

    /// Starts as many preparations as the bound allows. Partitions that nobody processes meanwhile go first, but for those
    /// whose calls fail: they go last, the more often the later. Or those that can't be read would keep all places.
    fn start_warming(&mut self, mut waiting: Vec<(TopicPartition, Call)>, actions: &mut Vec<RoleAction>) {
        let free = self.max_warming.saturating_sub(self.counts().warming);
        waiting.sort_by_key(|(partition, call)| {
            let failures = self.entries.get(partition).map_or(0, Entry::failures);
            (failures > 0, matches!(call, Call::Warm { current_owner: Some(_), .. }), failures)
        });
        for (partition, call) in waiting.into_iter().take(free) {
            if let Some(entry) = self.entries.get_mut(&partition) {
                start(&partition, entry, call, actions);
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

fn start(partition: &TopicPartition, entry: &mut Entry, call: Call, actions: &mut Vec<RoleAction>) {
    entry.started(call.clone());
    actions.push(RoleAction::Call(partition.clone(), call));
}

#[cfg(test)]
mod roles_test;
