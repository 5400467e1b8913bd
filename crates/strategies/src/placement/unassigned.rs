//! Reasons for units without an owner.

use std::fmt;

use super::counts;
use crate::{MemberIndex, MemberState, Problem, TopicIndex, UnitIndex};

/// The reason why no member should own a unit: the first of these that is true. Displays as a phrase for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unassigned {
    /// There are no members.
    NoMembers,
    /// No member is subscribed to the topic.
    NobodySubscribed,
    /// Every subscribed member is banned from the unit.
    AllBanned,
    /// Every member that may own it is draining or on hold, and it was not theirs to keep.
    OnlyDrainingOrHolding,
    /// Every member that could take it has reached its limit.
    AllFull,
    /// The strategy gives it to no member, although a member could take it. None of this crate does so.
    LeftOut,
}

impl fmt::Display for Unassigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMembers => "there are no members",
            Self::NobodySubscribed => "no member is subscribed to its topic",
            Self::AllBanned => "every subscribed member is banned from it",
            Self::OnlyDrainingOrHolding => "every member that may own it is draining or on hold",
            Self::AllFull => "every member that could take it has reached its limit",
            Self::LeftOut => "the strategy gives it to nobody",
        })
    }
}

/// The units without an owner, ascending, with the reasons.
pub(crate) fn explain(problem: &Problem, owner: &[Option<MemberIndex>]) -> Vec<(UnitIndex, Unassigned)> {
    // To look at all of them, many at once, is faster than to look for the first.
    if owner.iter().fold(0, |any, owner| any | u32::from(owner.is_none())) == 0 {
        return Vec::new();
    }
    let counts = counts(problem, |unit| owner[unit.index()]);
    let has_room = |member: MemberIndex| counts[member.index()] < problem.member(member).room();
    let of_topic = |topic| {
        let mut usual = None;
        let unowned = problem.units_of(topic).filter(|unit| owner[unit.index()].is_none());
        unowned.map(move |unit| (unit, reason(problem, topic, unit, &mut usual, has_room)))
    };
    problem.topic_indices().flat_map(of_topic).collect()
}

/// The reason why `unit` has no owner. Without bans all units of a topic share the reason, kept in `usual`.
fn reason(
    problem: &Problem,
    topic: TopicIndex,
    unit: UnitIndex,
    usual: &mut Option<Unassigned>,
    has_room: impl Fn(MemberIndex) -> bool,
) -> Unassigned {
    if problem.has_bans(unit) {
        return first_true(problem, topic, |member| problem.is_banned(unit, member), has_room);
    }
    *usual.get_or_insert_with(|| first_true(problem, topic, |_| false, has_room))
}

fn first_true(
    problem: &Problem,
    topic: TopicIndex,
    banned: impl Fn(MemberIndex) -> bool,
    has_room: impl Fn(MemberIndex) -> bool,
) -> Unassigned {
    if problem.members().is_empty() {
        return Unassigned::NoMembers;
    }
    let subscribed = || problem.member_indices().filter(|member| problem.is_subscribed(topic, *member));
    if subscribed().next().is_none() {
        return Unassigned::NobodySubscribed;
    }
    let eligible = || subscribed().filter(|member| !banned(*member));
    if eligible().next().is_none() {
        Unassigned::AllBanned
    } else if eligible().all(|member| problem.member(member).state != MemberState::Active) {
        Unassigned::OnlyDrainingOrHolding
    } else if eligible().any(has_room) {
        Unassigned::LeftOut
    } else {
        Unassigned::AllFull
    }
}
