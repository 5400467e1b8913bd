//! Members by load, within each class of them that subscribe alike.

use std::collections::BTreeSet;

use super::super::Group;
use super::board::Board;
use crate::MemberIndex;

/// A member and, what orders it first, its load.
type Rung = (u32, MemberIndex);

/// One class.
struct Ladder {
    rungs: BTreeSet<Rung>,
    /// The first and the last of `rungs`, if any; looked at much more often than they change.
    ends: Option<(Rung, Rung)>,
}

impl Ladder {
    fn of(rungs: BTreeSet<Rung>) -> Self {
        let mut ladder = Self { rungs, ends: None };
        ladder.find_ends();
        ladder
    }

    fn find_ends(&mut self) {
        self.ends = self.rungs.first().copied().zip(self.rungs.last().copied());
    }
}

/// All classes. Whether a unit can move is a question of the classes subscribed to its topic.
pub(super) struct Ladders {
    /// By class.
    ladders: Vec<Ladder>,
}

impl Ladders {
    pub(super) fn of(group: &Group, board: &Board) -> Self {
        let rung = |member: &MemberIndex| (board.load(*member), *member);
        let ladders = group.classes.iter().map(|class| Ladder::of(class.members.iter().map(rung).collect()));
        Self { ladders: ladders.collect() }
    }

    fn ends(&self, classes: &[usize]) -> impl Iterator<Item = (Rung, Rung)> {
        classes.iter().filter_map(|class| self.ladders[*class].ends)
    }

    /// The member of `classes` with the least load, and of those the first, with its load.
    pub(super) fn emptiest(&self, classes: &[usize]) -> Rung {
        self.ends(classes).map(|(first, _)| first).min().expect("a served topic has subscribers")
    }

    /// True if the loads of two members of `classes` are two or more apart.
    pub(super) fn can_level(&self, classes: &[usize]) -> bool {
        let most = self.ends(classes).map(|(_, (load, _))| load).max();
        most.is_some_and(|most| most > self.emptiest(classes).0 + 1)
    }

    /// Follows `member` from one load to another.
    pub(super) fn step(&mut self, group: &Group, member: MemberIndex, before: u32, now: u32) {
        let ladder = &mut self.ladders[group.members()[member.index()].class];
        ladder.rungs.remove(&(before, member));
        ladder.rungs.insert((now, member));
        ladder.find_ends();
    }
}
