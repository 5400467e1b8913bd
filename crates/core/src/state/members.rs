//! The consumers of a group: what is known of their sessions, and where they have a role.

use super::{Entry, GroupState, Versioned};
use crate::reason::FenceReason;
use crate::record::{Consumer, Handoff, Owner, Phase, Standing, Suspicion};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::name::MemberName;

/// The known state of a member's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Registered in that session.
    Here,
    /// Registered in that session, which is being ended by force.
    Ending,
    /// No registration names that session. This is final.
    Gone,
    /// A registration is there, but it can't be read: neither here nor gone.
    Unknown,
}

impl Presence {
    /// True if the session is over, or is being ended: nobody renews it any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Gone | Self::Ending)
    }
}

impl GroupState {
    /// The known state of a member's session.
    #[must_use]
    pub fn presence(&self, member: &Member) -> Presence {
        match self.consumers.get(&member.name) {
            None => Presence::Gone,
            Some(Entry::Unreadable(_)) => Presence::Unknown,
            Some(Entry::Readable(consumer)) if consumer.incarnation != member.incarnation => Presence::Gone,
            Some(Entry::Readable(consumer)) if consumer.is_ending() => Presence::Ending,
            Some(Entry::Readable(_)) => Presence::Here,
        }
    }

    /// The mark that the process of `member` seems to be dead, while its session is here.
    #[must_use]
    pub fn suspicion(&self, member: &Member) -> Option<&Suspicion> {
        let consumer = self.registration_of(member)?;
        consumer.suspicion()
    }

    /// True if the session of `member` is being ended because its process seemed to be dead.
    #[must_use]
    pub fn is_taken_over(&self, member: &Member) -> bool {
        let consumer = self.registration_of(member);
        consumer.is_some_and(|consumer| consumer.standing == Standing::Ending(FenceReason::Suspected))
    }

    /// True if the new owner of `handoff` prepares for an end of the old owner's session that may never come.
    #[must_use]
    pub fn only_prepares(&self, handoff: &Handoff) -> bool {
        handoff.is_ahead() && handoff.phase.is_in_flight() && !self.presence(&handoff.old).is_over()
    }

    /// True if `handoff` leaves open where its unit goes: it only prepares for an end that may never come, and the old owner
    /// does not give its partitions up itself.
    #[must_use]
    pub fn leaves_open(&self, handoff: &Handoff) -> bool {
        self.only_prepares(handoff) && !self.drains(&handoff.old)
    }

    /// True if `handoff` is ready, and nothing is left to do before the end of the old owner's session, or before its next
    /// heartbeat: in the strict modes nobody asks a process to stop that seems to be dead. No deadline runs meanwhile.
    #[must_use]
    pub fn waits_for_end(&self, handoff: &Handoff) -> bool {
        let asks_nobody = || handoff.mode.is_strict() && self.suspicion(&handoff.old).is_some();
        handoff.phase == Phase::Ready && (handoff.is_ahead() || asks_nobody())
    }

    /// True if `handoff` counts among the moves in flight: it is one, and does not wait for the end of a session.
    #[must_use]
    pub fn takes_a_place(&self, handoff: &Handoff) -> bool {
        let prepares = handoff.is_ahead() && matches!(handoff.phase, Phase::Warming | Phase::Ready);
        handoff.phase.is_in_flight() && !prepares && !self.waits_for_end(handoff)
    }

    /// True if `member` gives up what it has, to leave.
    #[must_use]
    pub fn drains(&self, member: &Member) -> bool {
        let consumer = self.registration_of(member);
        consumer.is_some_and(|consumer| consumer.standing == Standing::Draining)
    }

    /// The partitions that `member` owns, in order.
    pub fn owned(&self, member: &Member) -> impl Iterator<Item = &TopicPartition> {
        self.roles.of(&member.name).filter(move |at| self.owner(at).as_ref() == Some(member))
    }

    /// The owner of `at`, in its session.
    #[must_use]
    pub fn owner(&self, at: &TopicPartition) -> Option<Member> {
        self.assignment(at)?.owner.as_ref().map(Owner::member)
    }

    /// True if `member` has said itself that its session is over and that it has stopped, as far as is remembered.
    #[must_use]
    pub fn has_left(&self, member: &Member) -> bool {
        let mark = self.rejoins.get(&member.name).and_then(Entry::readable);
        mark.is_some_and(|mark| mark.incarnation == member.incarnation)
    }

    /// True if `name` said that it comes back, in the session that its partitions are still assigned to.
    #[must_use]
    pub fn comes_back(&self, name: &MemberName) -> bool {
        let Some(entry) = self.rejoins.get(name) else { return false };
        let Some(mark) = entry.readable() else { return true };
        let member = Member { name: name.clone(), incarnation: mark.incarnation.clone() };
        mark.comes_back && self.owns_something(&member)
    }

    /// True if an assignment names `member`.
    #[must_use]
    pub fn owns_something(&self, member: &Member) -> bool {
        let owner = |at| self.assignment(at).and_then(|assignment| assignment.owner.as_ref());
        self.roles.of(&member.name).filter_map(owner).any(|owner| owner.is(member))
    }

    /// The readable registration of `name`.
    #[must_use]
    pub fn registration(&self, name: &MemberName) -> Option<&Versioned<Consumer>> {
        self.consumers.get(name)?.readable()
    }

    /// The readable registration of the very session of `member`.
    #[must_use]
    pub fn registration_of(&self, member: &Member) -> Option<&Versioned<Consumer>> {
        self.registration(&member.name).filter(|consumer| consumer.incarnation == member.incarnation)
    }

    /// The partitions in which `name` may have a role, in order.
    pub fn concerned(&self, name: &MemberName) -> impl Iterator<Item = &TopicPartition> {
        self.roles.of(name)
    }

    /// True if `name` may have a role in `at`.
    #[must_use]
    pub fn is_concerned(&self, name: &MemberName, at: &TopicPartition) -> bool {
        self.roles.has(name, at)
    }

    /// The names that have a role somewhere and no registration, in order.
    pub fn absent_owners(&self) -> impl Iterator<Item = &MemberName> {
        self.roles.names().filter(|name| !self.consumers.contains_key(*name))
    }
}
