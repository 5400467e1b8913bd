//! The next problem: one that follows from another, without naming everything again.

use super::standby::StandbyList;
use super::{Problem, sorting};
use crate::{
    InvalidProblem, MemberIndex, MemberState, Placement, ProblemMember, Standby, Subscription, UnitIndex,
};

/// # What comes next
///
/// Names are looked up once, by a builder. Whoever asks again after each event keeps the problem and lets it follow
/// from the last one:
///
/// ```
/// use kafka_assigner_strategies::{Balanced, ProblemMember, MemberSpec, Problem, Strategy};
///
/// let mut builder = Problem::builder();
/// builder.topic("clicks", 6);
/// let a = builder.member(MemberSpec::new("a"));
/// builder.member(MemberSpec::new("b"));
/// let first = builder.build()?;
/// let placement = Balanced.assign(&first);
///
/// let c = ProblemMember { id: "c".into(), ..first.members()[0].clone() };
/// let joined = first.after(placement).with(c)?;
/// let placement = Balanced.assign(&joined);
/// assert_eq!(placement.changes(&joined).count(), 2);
///
/// let b = joined.member_named("b").expect("it is a member");
/// let left = joined.after(placement).without(b);
/// assert_eq!(Balanced.assign(&left).changes(&left).count(), 2);
/// # Ok::<(), kafka_assigner_strategies::InvalidProblem>(())
/// ```
impl Problem {
    /// The problem once `placement`, which is of this one, has come true: units are owned by whom it says, and its
    /// standbys are up to date. No handoff is under way any more, and nothing is cooling. All else is as it was.
    ///
    /// # Panics
    ///
    /// If `placement` is of a problem with another number of units or with more members.
    #[must_use]
    pub fn after(mut self, placement: Placement) -> Self {
        assert_eq!(placement.owner.len(), self.units(), "the placement is of this problem");
        let up_to_date = |unit: UnitIndex| {
            let members = placement.standbys.of(unit).iter();
            members.map(move |member| (unit, Standby { lag: 0, member: *member }))
        };
        let units = if placement.standbys.is_empty() { 0 } else { self.units() };
        let standbys = (0..units).map(UnitIndex::new).flat_map(up_to_date);
        self.standbys = StandbyList::new(self.units(), standbys);
        self.current = or_none(placement.owner);
        self.fixed = Vec::new();
        self.cooling = Vec::new();
        self.choose_pins();
        self
    }

    /// The problem once `member` has joined the others. It owns nothing yet. Its topics and its rack are named as in
    /// this problem, whose members from its place on have the next higher index afterwards; topics may come in any
    /// order.
    ///
    /// # Errors
    ///
    /// [`InvalidProblem::DuplicateMember`] if a member has its id, and [`InvalidProblem::ForeignHandle`] if its topics
    /// or its rack are not of this problem.
    pub fn with(mut self, mut member: ProblemMember) -> Result<Self, InvalidProblem> {
        let Err(place) = self.members.binary_search_by(|other| other.id.cmp(&member.id)) else {
            return Err(InvalidProblem::DuplicateMember(member.id));
        };
        if let Subscription::Topics(topics) = member.subscription {
            let topics = sorting::sorted_set(topics.iter().copied());
            if topics.last().is_some_and(|topic| topic.index() >= self.topics.len()) {
                return Err(InvalidProblem::ForeignHandle);
            }
            member.subscription = Subscription::of(topics, self.topics.len());
        }
        if member.rack.is_some_and(|rack| rack.index() >= self.racks.len()) {
            return Err(InvalidProblem::ForeignHandle);
        }
        self.members.insert(place, member);
        if place + 1 < self.members.len() {
            self.rename(|member| Some(if member.index() < place { member } else { next(member) }));
        }
        self.choose_pins();
        Ok(self)
    }

    /// The problem once `member` has left. What it owned has no owner, and the members after it have the next lower
    /// index.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    #[must_use]
    pub fn without(mut self, member: MemberIndex) -> Self {
        self.members.remove(member.index());
        self.rename(|other| match other.cmp(&member) {
            std::cmp::Ordering::Less => Some(other),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(MemberIndex::new(other.index() - 1)),
        });
        self.choose_pins();
        self
    }

    /// The problem in which `member` should own `most` units at most; `None` for any number. All else is as it was.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    #[must_use]
    pub fn limited(mut self, member: MemberIndex, most: Option<u32>) -> Self {
        self.members[member.index()].max_partitions = most;
        self
    }

    /// Gives members the names that `name` says, which must not change their order; forgets those without.
    fn rename(&mut self, name: impl Fn(MemberIndex) -> Option<MemberIndex>) {
        for holders in [&mut self.current, &mut self.fixed] {
            holders.iter_mut().for_each(|holder| *holder = holder.and_then(&name));
            *holders = or_none(std::mem::take(holders));
        }
        for pairs in [&mut self.bans, &mut self.told_pins] {
            let renamed = pairs.iter().filter_map(|(unit, member)| Some((*unit, name(*member)?)));
            *pairs = renamed.collect();
        }
        if !self.standbys.is_empty() {
            self.standbys = std::mem::take(&mut self.standbys).renamed(name);
        }
    }

    /// Lets the pins count of units that a member they are pinned to can have.
    pub(super) fn choose_pins(&mut self) {
        self.pins.clear();
        let can_have = |(unit, member): &(UnitIndex, MemberIndex)| match self.member(*member).state {
            MemberState::Active => self.may_own(*unit, *member),
            MemberState::Hold => self.current(*unit) == Some(*member) && self.may_own(*unit, *member),
            MemberState::Draining => false,
        };
        let of_one_unit = self.told_pins.chunk_by(|a, b| a.0 == b.0);
        self.pins = of_one_unit.filter(|pins| pins.iter().any(can_have)).flatten().copied().collect();
    }
}

fn next(member: MemberIndex) -> MemberIndex {
    MemberIndex::new(member.index() + 1)
}

/// `holders`, or an empty list if it names no member.
fn or_none(holders: Vec<Option<MemberIndex>>) -> Vec<Option<MemberIndex>> {
    if holders.iter().all(Option::is_none) { Vec::new() } else { holders }
}
