//! The parts of the state that a change concerns.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, GroupState, Scope};
use crate::record::Consumer;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::MemberName;

/// The records that a change touched, so that only these are looked at again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Somebody came, went, or changed what they take.
    pub membership: bool,
    /// The topics changed.
    pub topics: bool,
    /// The group's configuration changed.
    pub config: bool,
    /// A record became unreadable, or readable again.
    pub readability: bool,
    /// The mark of a partition whose owner can't handle a record came, went or changed.
    pub stops: bool,
    /// The leadership changed.
    pub leader: bool,
    /// Consumers whose registration came, went or says something else of what they take.
    pub registrations: BTreeSet<MemberName>,
    /// Consumers that were marked as dead by their looks, or are not any more.
    pub suspicions: BTreeSet<MemberName>,
    /// Consumers that were fenced of partitions, or said that they have dropped them.
    pub fences: BTreeSet<MemberName>,
    /// Members whose view may differ now, and which part of it.
    pub members: BTreeMap<MemberName, Scope>,
    /// Units (by the partition that leads them) of which an assignment, a handoff or an intent changed.
    pub units: BTreeSet<TopicPartition>,
    /// The number of partitions that got another owner, or another session of it, by the
    /// [label](crate::reason::Reason::label) of the reason.
    pub moves: BTreeMap<&'static str, u64>,
    /// Consumers that reported progress.
    pub progress: BTreeSet<MemberName>,
    /// Routers came, went, or opened another session.
    pub routers: bool,
    /// Partitions whose requests may have to go elsewhere now.
    pub routes: Scope,
}

impl Touched {
    /// True if who should own what must be thought over.
    #[must_use]
    pub fn calls_for_plan(&self) -> bool {
        self.membership
            || self.topics
            || self.config
            || self.readability
            || self.stops
            || !self.suspicions.is_empty()
    }

    /// True if nothing was touched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what `other` touched.
    pub fn merge(&mut self, other: Self) {
        self.membership |= other.membership;
        self.topics |= other.topics;
        self.config |= other.config;
        self.readability |= other.readability;
        self.stops |= other.stops;
        self.leader |= other.leader;
        self.registrations.extend(other.registrations);
        self.suspicions.extend(other.suspicions);
        self.fences.extend(other.fences);
        other.members.into_iter().for_each(|(name, scope)| self.member(name).merge(scope));
        self.units.extend(other.units);
        other.moves.into_iter().for_each(|(why, moves)| *self.moves.entry(why).or_default() += moves);
        self.progress.extend(other.progress);
        self.routers |= other.routers;
        self.routes.merge(other.routes);
    }

    /// The touched part of one member's view.
    pub(super) fn member(&mut self, name: MemberName) -> &mut Scope {
        self.members.entry(name).or_default()
    }

    pub(super) fn consumer(
        &mut self,
        name: &MemberName,
        before: Option<&Entry<Consumer>>,
        after: Option<&Entry<Consumer>>,
    ) {
        match (before.and_then(Entry::readable), after.and_then(Entry::readable)) {
            (Some(before), Some(after)) if is_same_member(before, after) => {
                self.progress.insert(name.clone());
                if before.suspected != after.suspected {
                    self.suspicions.insert(name.clone());
                }
                if before.fenced != after.fenced {
                    self.fences.insert(name.clone());
                }
            }
            _ => {
                self.membership = true;
                self.registrations.insert(name.clone());
                *self.member(name.clone()) = Scope::Everything;
            }
        }
    }
}

impl GroupState {
    /// The partitions whose handoffs or assignments a change may drive on: what it touched, and what concerns
    /// the members that came, went or changed.
    #[must_use]
    pub fn driven_by(&self, touched: &Touched) -> BTreeSet<TopicPartition> {
        let mut units = touched.units.clone();
        if touched.topics || touched.routers {
            units.extend(self.handoffs.keys().cloned());
        }
        for name in touched.registrations.iter().chain(&touched.suspicions).chain(&touched.fences) {
            units.extend(self.roles.of(name).map(|at| self.lead_of(at)));
        }
        units
    }
}

/// True if two registrations say the same of what the consumer is and takes, whatever progress they report.
fn is_same_member(a: &Consumer, b: &Consumer) -> bool {
    a.incarnation == b.incarnation
        && a.standing == b.standing
        && a.topics == b.topics
        && a.max_partitions == b.max_partitions
        && a.capacity == b.capacity
        && a.rack == b.rack
        && a.generation == b.generation
        && a.endpoint == b.endpoint
}
