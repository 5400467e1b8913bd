//! The view of one consumer: its roles, derived from the records and from nothing else.
//!
//! A role is keyed, by its epoch (owner) or its handoff (all others, and an owner that rests): under another key it is
//! another role.
//! A cancelled handoff looks like none.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::can_rest;
use crate::record::{Assignment, Handoff, Phase};
use crate::state::{GroupState, Presence, Scope};
use kafka_assigner_types::id::{Epoch, HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::MemberName;

/// Everything that one consumer has to know, at one revision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConsumerView {
    /// The revision of the state that it was derived from.
    pub revision: Revision,
    /// Its role in each partition where it has one.
    pub roles: BTreeMap<TopicPartition, Role>,
    /// The partitions of the group that can't be decided now: whatever the consumer does with them, it goes on.
    pub undecided: BTreeSet<TopicPartition>,
}

/// The one role that a member has in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Role {
    /// It processes the partition.
    Owner {
        /// The fencing token.
        epoch: Epoch,
        /// The first epoch of its run of grants.
        run: Epoch,
        /// The mode of the grant.
        mode: Mode,
        /// The offset to start at, where one was handed over.
        start: Option<Offset>,
        /// The handoff that brought it, while that one waits to hear that the consumer processes; or the token of a
        /// grant in another mode that waits for the same.
        taking: Option<HandoffId>,
        /// The handoff before which it ends the record in the works, and says so; until the handoff is over it begins none
        /// where its records take long. It answers requests all the while.
        resting: Option<HandoffId>,
        /// The offset of the record that it passes over, as an operator has commanded.
        skip: Option<Offset>,
        /// True if an offset is known to have been committed before the grant: where there is none, it was lost.
        was_committed: bool,
    },
    /// It builds its state while another one works.
    Warming {
        /// The handoff.
        handoff: HandoffId,
        /// The consumer that works.
        current_owner: MemberName,
    },
    /// It is about to own it: it takes its fences and reads what is left of the log, and acts on nothing.
    CatchingUp {
        /// The handoff.
        handoff: HandoffId,
        /// The epoch that is reserved for it.
        epoch: Epoch,
        /// The offset at which the old owner stopped; `None`: it did not say, the committed offset counts.
        until: Option<Offset>,
    },
    /// It stops, says where, and keeps its state: the attempt may still be cancelled.
    Draining {
        /// The handoff.
        handoff: HandoffId,
        /// The epoch under which it owns the partition.
        epoch: Epoch,
        /// The first epoch of its run of grants: one who started none of the run answers with `start`.
        run: Epoch,
        /// The offset at which its grant told it to start.
        start: Option<Offset>,
    },
    /// It lets go: the new owner works.
    Releasing {
        /// The handoff.
        handoff: HandoffId,
        /// The epoch under which it owned the partition.
        epoch: Epoch,
        /// The consumer that works now.
        new_owner: MemberName,
    },
}

impl Role {
    /// True if it is the same role under the same key; what else is told with it may differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Owner { epoch: a, resting: x, .. }, Self::Owner { epoch: b, resting: y, .. }) => {
                a == b && x == y
            }
            (Self::Warming { handoff: a, .. }, Self::Warming { handoff: b, .. })
            | (Self::CatchingUp { handoff: a, .. }, Self::CatchingUp { handoff: b, .. })
            | (Self::Draining { handoff: a, .. }, Self::Draining { handoff: b, .. })
            | (Self::Releasing { handoff: a, .. }, Self::Releasing { handoff: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// The view of `member`; without any role where its session is over.
#[must_use]
pub fn consumer_view(state: &GroupState, member: &Member) -> ConsumerView {
    let mut view = ConsumerView { revision: state.revision(), ..ConsumerView::default() };
    if state.presence(member) == Presence::Gone {
        return view;
    }
    view.undecided = state.unreadable().clone();
    view.roles = state
        .concerned(&member.name)
        .filter(|at| !view.undecided.contains(*at))
        .filter_map(|at| Some((at.clone(), role(state, member, at)?)))
        .collect();
    view
}

/// The role of `member` in one partition.
#[must_use]
pub fn role(state: &GroupState, member: &Member, at: &TopicPartition) -> Option<Role> {
    let handoff = state.handoff_of(at).filter(|handoff| handoff.phase != Phase::Cancelled);
    owned(state, member, at, handoff).or_else(|| {
        let handoff = handoff?;
        match handoff.phase {
            Phase::CatchingUp if handoff.new == *member => Some(catching_up(state, handoff, at)),
            phase if phase.is_in_flight() && handoff.new == *member => {
                Some(Role::Warming { handoff: handoff.id.clone(), current_owner: handoff.old.name.clone() })
            }
            phase if phase.stops_the_old_owner() && handoff.old == *member => draining(state, handoff, at),
            Phase::Complete if handoff.old == *member => Some(giving(handoff, at)),
            _ => None,
        }
    })
}

fn owned(
    state: &GroupState,
    member: &Member,
    at: &TopicPartition,
    handoff: Option<&Handoff>,
) -> Option<Role> {
    let assignment = state.assignment(at)?;
    assignment.owner.as_ref().filter(|owner| owner.is(member))?;
    // In `overlap` its record goes at once, and the handoff of a set needs all of it until it is over.
    // A partition that was granted before the topic was gone is shown once it is granted anew.
    if state.is_of_earlier_topic(at) || (assignment.mode.is_strict() && !state.exists(at)) {
        return None;
    }
    if handoff.is_some_and(|handoff| handoff.phase.stops_the_old_owner()) {
        return None;
    }
    let taking = handoff
        .filter(|handoff| handoff.phase == Phase::Complete && handoff.taken.is_none())
        .filter(|handoff| handoff.new == *member)
        .map(|handoff| handoff.id.clone())
        .or_else(|| assignment.switching.clone());
    let resting = handoff
        .filter(|handoff| handoff.old == *member && handoff.asks_for_rest() && can_rest(state, member))
        .map(|handoff| handoff.id.clone());
    Some(Role::Owner {
        epoch: assignment.held_epoch(),
        run: assignment.run(),
        mode: assignment.mode,
        start: assignment.start,
        taking,
        resting,
        skip: assignment.skip,
        was_committed: assignment.was_committed(),
    })
}

fn catching_up(state: &GroupState, handoff: &Handoff, at: &TopicPartition) -> Role {
    Role::CatchingUp {
        handoff: handoff.id.clone(),
        epoch: state.assignment(at).map_or(Epoch(0), Assignment::highest_epoch),
        // The old owner stopped in the log of the topic that was there then; of this one it has read nothing.
        until: if state.is_of_earlier_topic(at) { Some(Offset::ZERO) } else { handoff.final_offset(at) },
    }
}

fn draining(state: &GroupState, handoff: &Handoff, at: &TopicPartition) -> Option<Role> {
    let assignment = state.assignment(at)?;
    Some(Role::Draining {
        handoff: handoff.id.clone(),
        epoch: assignment.held_epoch(),
        run: assignment.run(),
        start: assignment.start,
    })
}

/// The old owner's role after the switch: in `overlap` it works on until the new owner has said that it works.
fn giving(handoff: &Handoff, at: &TopicPartition) -> Role {
    let epoch = handoff.old_epoch(at).unwrap_or_default();
    if handoff.taken.is_none() && !handoff.mode.is_strict() {
        return Role::Owner {
            epoch,
            run: epoch,
            mode: handoff.mode,
            start: None,
            taking: None,
            resting: None,
            skip: None,
            was_committed: false,
        };
    }
    Role::Releasing { handoff: handoff.id.clone(), epoch, new_owner: handoff.new.name.clone() }
}

/// The changes from one view to the next, in the order in which they are sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// Roles that are new, or have another key.
    pub roles: BTreeMap<TopicPartition, Role>,
    /// Partitions in which the consumer has no role any more, with the role that ended.
    pub ended: BTreeMap<TopicPartition, Role>,
}

impl Difference {
    /// True if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.ended.is_empty()
    }
}

impl ConsumerView {
    /// The difference to tell somebody who knows `self`, so that they know `next`. Partitions that are undecided
    /// in `next` are passed over.
    #[must_use]
    pub fn difference(&self, next: &Self) -> Difference {
        let is_news = |(at, role): &(&TopicPartition, &Role)| {
            self.roles.get(*at).is_none_or(|known| !known.is_same(role))
        };
        let is_over = |(at, _): &(&TopicPartition, &Role)| {
            !next.roles.contains_key(*at) && !next.undecided.contains(*at)
        };
        let cloned = |(at, role): (&TopicPartition, &Role)| (at.clone(), role.clone());
        Difference {
            roles: next.roles.iter().filter(is_news).map(cloned).collect(),
            ended: self.roles.iter().filter(is_over).map(cloned).collect(),
        }
    }

    /// Brings what somebody knows up to `state` as far as `scope` reaches, and returns what has to be told to them.
    /// Where `scope` has all that was touched since it was last followed, however merged, this leads where
    /// [`followed_by`](Self::followed_by) leads, at a cost in proportion to the scope.
    pub fn follow(&mut self, state: &GroupState, member: &Member, scope: &Scope) -> Difference {
        match scope {
            Scope::Partitions(named) if state.presence(member) != Presence::Gone => {
                self.follow_each(state, member, named)
            }
            Scope::Partitions(_) | Scope::Everything => {
                let next = consumer_view(state, member);
                let difference = self.difference(&next);
                *self = self.followed_by(next);
                difference
            }
        }
    }

    /// True if somebody who knows this knows all that `full` has to tell.
    #[must_use]
    pub fn is_up_to_date(&self, full: &Self) -> bool {
        let decided = |(at, _): &(&TopicPartition, &Role)| !full.undecided.contains(*at);
        self.undecided == full.undecided && self.roles.iter().filter(decided).eq(&full.roles)
    }

    fn follow_each(
        &mut self,
        state: &GroupState,
        member: &Member,
        named: &BTreeSet<TopicPartition>,
    ) -> Difference {
        self.revision = state.revision();
        let mut difference = Difference::default();
        for at in named {
            if state.unreadable().contains(at) {
                self.undecided.insert(at.clone());
                continue;
            }
            self.undecided.remove(at);
            let is_concerned = state.is_concerned(&member.name, at);
            let next = if is_concerned { role(state, member, at) } else { None };
            self.follow_one(at, next, &mut difference);
        }
        difference
    }

    fn follow_one(&mut self, at: &TopicPartition, next: Option<Role>, difference: &mut Difference) {
        let Some(role) = next else {
            difference.ended.extend(self.roles.remove_entry(at));
            return;
        };
        let known = self.roles.insert(at.clone(), role.clone());
        if known.is_none_or(|known| !known.is_same(&role)) {
            difference.roles.insert(at.clone(), role);
        }
    }

    /// The view that somebody has who knew `self` and was told the difference to `next`: `next`, with what they
    /// keep of what is undecided.
    #[must_use]
    pub fn followed_by(&self, mut next: Self) -> Self {
        for at in &next.undecided {
            if let Some(role) = self.roles.get(at) {
                next.roles.insert(at.clone(), role.clone());
            }
        }
        next
    }
}
