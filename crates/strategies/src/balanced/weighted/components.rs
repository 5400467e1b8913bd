//! Components of members that can trade with each other: [`Components`].

use crate::MemberIndex;
use crate::balanced::classes::{Classes, UnitClass};
use crate::balanced::roles::{MemberRole, Roles};

/// The members that take and give, divided so that no unit can pass from one component to another.
///
/// Two members that can take the same units are in one component, and so are all that hang together by such pairs. What
/// the members of a component carry together is therefore the same in every placement, but for units that come in or
/// find no member; which level would be even is a question to each component alone.
#[derive(Debug)]
pub(super) struct Components {
    /// By component: its members, ascending.
    pub(super) members: Vec<Vec<MemberIndex>>,
    /// By member: its component, if it takes and gives.
    of_member: Vec<Option<u32>>,
    /// By class: the component of those that take its units and give them, if there are such.
    of_class: Vec<Option<u32>>,
}

impl Components {
    pub(super) fn of(roles: &Roles, classes: &Classes) -> Self {
        let mut links = Links::of(classes);
        let first_of: Vec<Option<usize>> =
            classes.classes.iter().map(|class| links.join_takers(roles, classes, class)).collect();
        links.join_kinds(classes);
        let mut components = Self {
            members: Vec::new(),
            of_member: vec![None; classes.kind_of.len()],
            of_class: vec![None; first_of.len()],
        };
        components.number(roles, &mut links);
        for (of_class, first) in components.of_class.iter_mut().zip(first_of) {
            *of_class = first.and_then(|node| links.number_of(node));
        }
        components
    }

    /// Numbers the components in the order of their first members.
    fn number(&mut self, roles: &Roles, links: &mut Links) {
        for member in (0..self.of_member.len()).map(MemberIndex::new) {
            if roles.role(member) != MemberRole::Takes {
                continue;
            }
            let root = links.root(member.index());
            let next = u32::try_from(self.members.len()).expect("members are counted in u32");
            let component = *links.number[root].get_or_insert(next);
            if component == next {
                self.members.push(Vec::new());
            }
            self.members[component as usize].push(member);
            self.of_member[member.index()] = Some(component);
        }
    }

    /// The component of `member`, if it takes and gives.
    pub(super) fn of_member(&self, member: MemberIndex) -> Option<usize> {
        self.of_member[member.index()].map(|component| component as usize)
    }

    /// The component whose members take units of the class numbered `class`, if there are such.
    pub(super) fn of_class(&self, class: u32) -> Option<usize> {
        self.of_class[class as usize].map(|component| component as usize)
    }
}

/// The parts that hang together: a forest over the members and, after them, the kinds.
struct Links {
    parent: Vec<usize>,
    /// By root: the number of its component, once it has one.
    number: Vec<Option<u32>>,
    members: usize,
    /// By kind: whether there are units that all its members take.
    is_whole: Vec<bool>,
}

impl Links {
    fn of(classes: &Classes) -> Self {
        let (members, kinds) = (classes.kind_of.len(), classes.kinds.len());
        let nodes = members + kinds;
        Self {
            parent: (0..nodes).collect(),
            number: vec![None; nodes],
            members,
            is_whole: vec![false; kinds],
        }
    }

    /// Joins all that take units of `class` and give them; returns one of them.
    fn join_takers(&mut self, roles: &Roles, classes: &Classes, class: &UnitClass) -> Option<usize> {
        if class.len() == 0 {
            return None;
        }
        let trades = |member: &MemberIndex| roles.role(*member) == MemberRole::Takes;
        // The members of a kind have one role.
        let kind_trades = |kind: &usize| classes.kinds[*kind].members.first().is_some_and(trades);
        let kinds = class.kinds.iter().copied().filter(kind_trades);
        let mut first = None;
        for kind in kinds {
            self.is_whole[kind] = true;
            self.join(*first.get_or_insert(self.members + kind), self.members + kind);
        }
        for member in class.members.iter().filter(|member| trades(member)) {
            self.join(*first.get_or_insert(member.index()), member.index());
        }
        first
    }

    /// Joins the members of each kind for which there are units that all of them take.
    fn join_kinds(&mut self, classes: &Classes) {
        for (number, kind) in classes.kinds.iter().enumerate() {
            if self.is_whole[number] {
                kind.members.iter().for_each(|member| self.join(self.members + number, member.index()));
            }
        }
    }

    /// The number of the component that `node` is in, if it has one.
    fn number_of(&mut self, node: usize) -> Option<u32> {
        let root = self.root(node);
        self.number[root]
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, one: usize, other: usize) {
        let [one, other] = [one, other].map(|node| self.root(node));
        self.parent[other] = one;
    }
}
