//! The sticky rule where members are subscribed to different topics.

mod board;
mod fill;
mod ladder;
mod movements;
mod previous;

use super::claims::Claims;
use super::{Group, GroupAssignment};
use crate::{MemberIndex, TopicIndex, UnitIndex};
use board::Board;
use ladder::Ladders;
use movements::Movements;
use previous::Previous;

/// Leaves with members what they have and may have, gives what is free to the emptiest, topics
/// with the fewest subscribers first, and then moves one unit after the other to the emptiest
/// member that can have it, while that lies two or more below its owner. `by_rack` if racks matter.
pub(super) fn assign(group: &Group, claims: &Claims, by_rack: bool) -> GroupAssignment {
    if group.members().is_empty() {
        return GroupAssignment::new(Vec::new());
    }
    let topics = fewest_subscribers_first(group);
    let mut board = Board::new(group);
    let must_give = board.keep(group, claims, by_rack);
    let is_fresh = board.is_empty();
    let free = fill::free(group, &topics, &board);
    fill::fill(group, &mut board, &free, by_rack);

    let mut leveling = Leveling::new(group, board);
    let score = leveling.score();
    if !must_give {
        leveling.level(&free);
    }
    let all: Vec<_> = topics.iter().map(|topic| (*topic, group.units_of(*topic).collect())).collect();
    if leveling.level(&all) && !is_fresh && leveling.score() >= score {
        leveling.board.undo_moves();
    }
    GroupAssignment::new(leveling.board.into_lists())
}

/// Some units of a topic, ascending.
type TopicUnits = (TopicIndex, Vec<UnitIndex>);

fn fewest_subscribers_first(group: &Group) -> Vec<TopicIndex> {
    let mut topics: Vec<_> = group.served_topics().collect();
    topics.sort_by_key(|topic| group.audience(*topic).listings);
    topics
}

/// A topic can be levelled only if there is a choice. Kafka counts the times it is listed.
fn has_choice(group: &Group, topic: TopicIndex) -> bool {
    group.audience(topic).listings > 1
}

/// Moving units from fuller to emptier members.
struct Leveling<'a> {
    group: &'a Group,
    board: Board,
    ladders: Ladders,
    movements: Movements,
    previous: Previous,
    /// The number of moves that may still be replaced by the undoing of another. A move that is not lowers the sum of
    /// the squared loads, so that with this bound there is an end; Kafka has none.
    replacements: usize,
}

impl<'a> Leveling<'a> {
    fn new(group: &'a Group, board: Board) -> Self {
        Self {
            ladders: Ladders::of(group, &board),
            movements: Movements::default(),
            previous: Previous::of(group),
            replacements: group.units(),
            group,
            board,
        }
    }

    /// Goes through `units` again and again until none moves; returns whether any did.
    fn level(&mut self, units: &[TopicUnits]) -> bool {
        let mut has_moved = false;
        while self.pass(units) {
            has_moved = true;
        }
        has_moved
    }

    fn pass(&mut self, units: &[TopicUnits]) -> bool {
        let before = self.board.moves();
        for (topic, units) in units.iter().filter(|(topic, _)| has_choice(self.group, *topic)) {
            let classes = &self.group.audience(*topic).classes;
            if self.ladders.can_level(classes) {
                units.iter().for_each(|unit| self.improve(*unit, classes));
            }
        }
        self.board.moves() > before
    }

    /// Moves `unit`, or another in its place, if that helps.
    fn improve(&mut self, unit: UnitIndex, classes: &[usize]) {
        let owner = self.board.owner(unit).expect("a served topic's units have owners by now");
        let helps = |load: u32| self.board.load(owner) > load + 1;
        let back = self.previous.owner(unit).filter(|member| helps(self.board.load(*member)));
        let to = back.or_else(|| {
            let (load, emptiest) = self.ladders.emptiest(classes);
            helps(load).then_some(emptiest)
        });
        if let Some(to) = to {
            let unit = self.in_its_place(unit, owner, to);
            self.carry_out(unit, to);
        }
    }

    /// The unit to move instead of `unit`: one of the same topic that moved the other way before.
    fn in_its_place(&mut self, unit: UnitIndex, owner: MemberIndex, to: MemberIndex) -> UnitIndex {
        let reverse = self.movements.reverse_of(self.group, unit, owner, to);
        let reverse = reverse.filter(|_| self.replacements > 0);
        self.replacements -= usize::from(reverse.is_some());
        reverse.unwrap_or(unit)
    }

    fn carry_out(&mut self, unit: UnitIndex, to: MemberIndex) {
        let from = self.board.owner(unit).expect("what has moved has an owner");
        self.movements.record(self.group, unit, from, to);
        self.board.move_to(unit, to);
        for (member, before) in [(from, self.board.load(from) + 1), (to, self.board.load(to) - 1)] {
            self.ladders.step(self.group, member, before, self.board.load(member));
        }
    }

    /// The distance of the loads from each other: the sum of all differences between two members, but for those that
    /// have no choice.
    fn score(&self) -> u128 {
        let has_choice = |member: &MemberIndex| {
            let mut topics = self.group.class_of(*member).topics.iter();
            topics.any(|topic| self.group.partitions(*topic) > 0 && has_choice(self.group, *topic))
        };
        let members = self.group.member_indices().filter(has_choice);
        let mut loads: Vec<_> = members.map(|member| u128::from(self.board.load(member))).collect();
        loads.sort_unstable();
        let mut below = 0;
        let differences = loads.iter().enumerate().map(|(count, load)| {
            let differences = load * count as u128 - below;
            below += load;
            differences
        });
        differences.sum()
    }
}
