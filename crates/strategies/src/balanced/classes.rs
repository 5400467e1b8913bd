//! Units that the same members can take, and members that can take the same units.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Place, Problem, Subscription, TopicIndex, UnitIndex};

/// Members that take units and have the same subscription and role.
#[derive(Debug)]
pub(super) struct Kind {
    /// Ascending.
    pub(super) members: Vec<MemberIndex>,
}

/// Units that the same members can take. Their topics, weights and owners may differ.
#[derive(Debug, Default)]
pub(super) struct UnitClass {
    /// The positions of its units, ascending and without overlap.
    pub(super) units: Vec<Range<usize>>,
    /// The kinds all of whose members can take them.
    pub(super) kinds: Vec<usize>,
    /// The members that can take them although not all of their kind can; ascending.
    pub(super) members: Vec<MemberIndex>,
}

impl UnitClass {
    /// The number of its units.
    pub(super) fn len(&self) -> usize {
        self.units.iter().map(Range::len).sum()
    }

    /// All units of the class, ascending.
    pub(super) fn unit_indices(&self) -> impl DoubleEndedIterator<Item = UnitIndex> {
        self.units.iter().cloned().flatten().map(UnitIndex::new)
    }
}

/// The classes and kinds of a problem. There are few where members' subscriptions are much alike,
/// however many units and members there are.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) classes: Vec<UnitClass>,
    pub(super) kinds: Vec<Kind>,
    /// By member: its kind, if it takes units.
    pub(super) kind_of: Vec<Option<usize>>,
}

impl Classes {
    /// Those of who may have the `place` of units.
    pub(super) fn of(problem: &Problem, roles: &Roles, place: Place) -> Self {
        let (kinds, kind_of, subscriptions) = kinds(problem, roles);
        let class_of = refine(problem, &subscriptions);
        let mut classes = Vec::new();
        classes.resize_with(class_of.iter().max().map_or(0, |last| last + 1), UnitClass::default);
        for (topic, class) in problem.topic_indices().zip(&class_of) {
            let first = problem.first_unit(topic);
            let end = first + problem.topic(topic).partitions as usize;
            let of_class = &mut classes[*class];
            if of_class.units.is_empty() {
                let takes = |kind: &usize| takes(subscriptions[*kind], topic);
                of_class.kinds = (0..kinds.len()).filter(takes).collect();
            }
            of_class.units.push(first..end);
        }
        let mut all = Self { classes, kinds, kind_of };
        all.set_apart(problem, place);
        all
    }

    /// True if `member` can take units of `class`.
    pub(super) fn takes(&self, member: MemberIndex, class: &UnitClass) -> bool {
        self.kind_of[member.index()].is_some_and(|kind| {
            class.kinds.binary_search(&kind).is_ok() || class.members.binary_search(&member).is_ok()
        })
    }

    /// All members that can take units of `class`.
    pub(super) fn takers<'a>(&'a self, class: &'a UnitClass) -> impl Iterator<Item = MemberIndex> + 'a {
        let of_kinds = class.kinds.iter().flat_map(|kind| &self.kinds[*kind].members);
        of_kinds.chain(&class.members).copied()
    }

    /// Moves units that some are banned from into classes of their own, one for each set of takers.
    fn set_apart(&mut self, problem: &Problem, place: Place) {
        let banned: Vec<_> = problem.banned_units(place).collect();
        if banned.is_empty() {
            return;
        }
        // Many units are often banned from the same members; only the first of them looks at every member.
        let mut alike: FxHashMap<_, usize> = FxHashMap::default();
        let mut numbers: FxHashMap<(usize, Vec<MemberIndex>), usize> = FxHashMap::default();
        for (from, unit) in self.take_out(&banned) {
            let number = *alike.entry((from, problem.restriction(unit, place))).or_insert_with(|| {
                let may = |member| !problem.is_barred(unit, member, place);
                self.apart(from, may, &mut numbers)
            });
            self.classes[number].units.push(unit.index()..unit.index() + 1);
        }
    }

    /// The number of the class for the takers of class `from` that `may`; `numbers` are those there are.
    fn apart(
        &mut self,
        from: usize,
        may: impl Fn(MemberIndex) -> bool,
        numbers: &mut FxHashMap<(usize, Vec<MemberIndex>), usize>,
    ) -> usize {
        let takers: Vec<_> = self.takers(&self.classes[from]).filter(|taker| may(*taker)).collect();
        let next = self.classes.len();
        let number = *numbers.entry((from, takers)).or_insert(next);
        if number == next {
            let apart = self.restricted(from, may);
            self.classes.push(apart);
        }
        number
    }

    /// Removes `units`, ascending, from their classes; returns each with the class it was in.
    fn take_out(&mut self, units: &[UnitIndex]) -> Vec<(usize, UnitIndex)> {
        let mut taken = Vec::with_capacity(units.len());
        for (number, class) in self.classes.iter_mut().enumerate() {
            let mut left = Vec::with_capacity(class.units.len());
            for range in class.units.drain(..) {
                let mut start = range.start;
                let from = units.partition_point(|unit| unit.index() < range.start);
                for unit in units[from..].iter().take_while(|unit| unit.index() < range.end) {
                    left.push(start..unit.index());
                    start = unit.index() + 1;
                    taken.push((number, *unit));
                }
                left.push(start..range.end);
            }
            left.retain(|range| !range.is_empty());
            class.units = left;
        }
        taken
    }

    /// A class without units whose takers are those of class `from` that `may`.
    fn restricted(&self, from: usize, may: impl Fn(MemberIndex) -> bool) -> UnitClass {
        let mut class = UnitClass::default();
        for kind in &self.classes[from].kinds {
            let members = &self.kinds[*kind].members;
            let able = members.iter().filter(|member| may(**member));
            if able.clone().count() == members.len() {
                class.kinds.push(*kind);
            } else {
                class.members.extend(able);
            }
        }
        class.members.sort_unstable();
        class
    }
}

/// The kinds of members, the kind of each member, and the subscription of each kind.
fn kinds<'a>(
    problem: &'a Problem,
    roles: &Roles,
) -> (Vec<Kind>, Vec<Option<usize>>, Vec<&'a Subscription<TopicIndex>>) {
    let mut numbers: FxHashMap<(&Subscription<TopicIndex>, bool), usize> = FxHashMap::default();
    // Most members share their list with others, often with the one before, and it is as long as there are topics.
    let mut shared: FxHashMap<(Option<*const TopicIndex>, bool), usize> = FxHashMap::default();
    let mut last = None;
    let (mut kinds, mut subscriptions) = (Vec::new(), Vec::new());
    let mut kind_of = vec![None; problem.members().len()];
    for member in problem.member_indices() {
        let is_last = match roles.role(member) {
            MemberRole::Takes => false,
            MemberRole::TakesLast => true,
            MemberRole::Keeps | MemberRole::Gives => continue,
        };
        let subscription = &problem.member(member).subscription;
        let list = (address(subscription), is_last);
        let number = match last {
            Some((known, number)) if known == list => number,
            _ => *shared
                .entry(list)
                .or_insert_with(|| *numbers.entry((subscription, is_last)).or_insert(kinds.len())),
        };
        last = Some((list, number));
        if number == kinds.len() {
            kinds.push(Kind { members: Vec::new() });
            subscriptions.push(subscription);
        }
        kinds[number].members.push(member);
        kind_of[member.index()] = Some(number);
    }
    (kinds, kind_of, subscriptions)
}

/// The address of the list of topics, if the subscription is one.
fn address(subscription: &Subscription<TopicIndex>) -> Option<*const TopicIndex> {
    match subscription {
        Subscription::All => None,
        Subscription::Topics(topics) => Some(topics.as_ptr()),
    }
}

fn takes(subscription: &Subscription<TopicIndex>, topic: TopicIndex) -> bool {
    match subscription {
        Subscription::All => true,
        Subscription::Topics(topics) => topics.binary_search(&topic).is_ok(),
    }
}

/// By topic the number of its class: topics are in one class if the same subscriptions have them.
/// Starts with all in one and splits by one subscription after the other.
fn refine(problem: &Problem, subscriptions: &[&Subscription<TopicIndex>]) -> Vec<usize> {
    let mut class_of = vec![0; problem.topics().len()];
    let mut classes = 1;
    for subscription in subscriptions {
        let Subscription::Topics(topics) = subscription else { continue };
        let mut split: FxHashMap<usize, usize> = FxHashMap::default();
        for topic in topics.iter() {
            let class = &mut class_of[topic.index()];
            *class = *split.entry(*class).or_insert_with(|| {
                classes += 1;
                classes - 1
            });
        }
    }
    renumber(&mut class_of);
    class_of
}

/// Numbers the classes that are left in the order in which topics are first in them.
fn renumber(class_of: &mut [usize]) {
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    for class in class_of {
        let next = numbers.len();
        *class = *numbers.entry(*class).or_insert(next);
    }
}
